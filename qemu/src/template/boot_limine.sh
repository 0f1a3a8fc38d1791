#!/bin/sh
# Boots the kernel "$1" by the loader in the folder `loader`, which follows Limine's boot protocol. To boot with Limine itself, make a disk or
# an ISO of the kernel here, and end with the command that boots it.
set -e
folder=$(dirname "$0")
# The settings in `.cargo/config.toml` beside this script are the kernel's.
(
    cd "$folder/loader"
    export RUSTFLAGS="-Crelocation-model=static -Clink-arg=-Tkernel.ld"
    export CARGO_TARGET_X86_64_UNKNOWN_NONE_LINKER=rust-lld
    cargo build --quiet --target-dir target
)
exec unwind-qemu --image "$1" -- qemu-system-x86_64 -kernel "$folder/loader/target/x86_64-unknown-none/debug/loader" \
    -initrd "$1" -display none -device isa-debug-exit,iobase=0xf4 -serial stdio
