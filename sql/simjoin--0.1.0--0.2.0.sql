-- simjoin 0.1.0 to 0.2.0. A script of a released version never changes: what is new stands here.
\echo Use "ALTER EXTENSION simjoin UPDATE" to load this file. \quit
