"""What benches/compare is made of: the peers and how they are told to do a job, the jobs, the load, the table.

A peer is a file: `nginx.py`, `haproxy.py`, `envoy.py`, `caddy.py`, `traefik.py`, and `frontdesk.py` itself.
"""
