"""Readers: from files of one kind to documents, one file for each kind."""

from foreword.basics.registry import Registry

READERS = Registry(
    "reader",
    {
        "text": "foreword.text.readers.plain:PlainText",
        "html": "foreword.text.readers.html:Html",
        "warc": "foreword.text.readers.warc:Warc",
        "mediawiki": "foreword.text.readers.mediawiki:MediaWiki",
        "mbox": "foreword.text.readers.mbox:Mbox",
        "epub": "foreword.text.readers.epub:Epub",
        "pdf": "foreword.text.readers.pdf:Pdf",
    },
)
