"""Requests to other servers about membership."""
