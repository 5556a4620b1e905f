"""Drives the native probe harness: builds it, runs plans of it, keeps what it measured.

It must not know what a measurement is compared with.

plan        what a plan is, and the packaged ones
compiler    which compiler there is
build       from sources to a program, once per source, compiler and flags
device      what the machine says of itself
process     one process: its lines as they come, its end, its time limit
step        one step of a plan: records checked, and files written complete or not at all
campaign    the steps in order; one that fails does not stop the others
revision    which sources the program was built from
table       plans, machines and results on a terminal
"""
