"""Stress tests: does a predictor see the disease, or what usually comes with it?"""
