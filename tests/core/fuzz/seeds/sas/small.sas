begin_version
3
end_version
begin_metric
1
end_metric
2
begin_variable
v
-1
3
Atom a()
Atom b()
<none of those>
end_variable
begin_variable
w
-1
2
Atom c()
NegatedAtom c()
end_variable
1
begin_mutex_group
2
0 0
1 0
end_mutex_group
begin_state
0
1
end_state
begin_goal
1
1 0
end_goal
2
begin_operator
go a b
1
1 1
1
0 0 0 1
2
end_operator
begin_operator
take 
0
2
1 0 1 1 -1 0
0 0 -1 2
0
end_operator
0
