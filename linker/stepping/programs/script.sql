create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 40) insert into t select x, 'w' || (x * 7 % 11), x * 1.5 from n;
create index i on t(b);
select b, count(*), sum(c) from t group by b having count(*) > 3 order by 2 desc, 1;
select substr(b, 2), printf('%.2f', avg(c)) from t where b like 'w1%' or a between 3 and 9 group by 1;
