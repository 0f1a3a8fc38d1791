#!/bin/sh
# Boots the kernel "$1" as the firmware of a Raspberry Pi does: from a flat file, `kernel8.img`, which is also the file for an SD card.
set -e
flat=$(dirname "$1")/kernel8.img
host=$(rustc -vV | sed -n 's/^host: //p')
"$(rustc --print sysroot)/lib/rustlib/$host/bin/rust-objcopy" -O binary "$1" "$flat"
exec unwind-qemu --image "$1" -- qemu-system-aarch64 -M raspi3b -kernel "$flat" -serial stdio -display none \
    -semihosting-config enable=on
