"""Summaries of files, read from a few of their bytes: FITS, netCDF, ZIP, tables of text and pictures.

Strangers made the files. Each reader gets bytes, or reads them by offset, within fixed limits. Nothing is unpacked, so
a decompression bomb is a harmless list of sizes. An unreadable file yields None.
"""
