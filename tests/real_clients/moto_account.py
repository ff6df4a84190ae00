"""A plugin for moto's own suites: clients keep the account's key that the environment names."""

from moto.core.config import default_user_config

default_user_config["core"]["mock_credentials"] = False
