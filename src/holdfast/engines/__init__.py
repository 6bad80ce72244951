"""Everything that touches the outside: each engine fits a port; only `app` names one."""
