"""tmp must not"""
from c3sim.studies import operator_shares
KIND = operator_shares.KIND
