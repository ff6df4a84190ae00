"""Stacks of CloudFormation: what SAM, the CDK and the AWS CLI deploy functions with."""
