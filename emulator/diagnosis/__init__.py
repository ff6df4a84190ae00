"""Diagnosis: what clients do wrong, by what they were seen to do.

recorder --> Exchange --> rules --> Diagnosis
contents --/   (pure functions of one recorded exchange)
"""
