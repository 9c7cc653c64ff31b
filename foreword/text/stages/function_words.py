"""Function words of some languages, written down by hand, and the scripts that tell others apart at sight."""

from __future__ import annotations

from foreword.text.words import HAN

WORDS = {
    name: frozenset(words.split())
    for name, words in {
        "en": "the of and to in a is that for it as was with be by on not he i this are or his from at which but "
        "have an had they you were their one all we can her has there been if more when will would who so no "
        "she my me what your its into than",
        "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden "
        "aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur "
        "oder aber vor zur bis mehr durch man",
        "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec "
        "son cette aux ou ses être comme mais nous elle été leur deux on fait d l à où même très tout vous je "
        "qu n s c",
        "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me "
        "si sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde "
        "está mi porque",
        "it": "di e il la che in a per un è del non con una i le si da dei al della come gli sono anche più nel "
        "alla ma lo delle ha questo dal o se nella degli suo ci essere stato tra cui molto loro mi",
        "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als door naar bij maar uit "
        "dan was nog wordt over heeft of worden tot je ze hij ik deze werd hun meer kan geen zou",
        "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem "
        "à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela",
        "sv": "och i att en som det är av för på med till den har de inte om ett han men var jag sig från vi så kan "
        "man när år under också efter eller nu sin där vid mot ska skulle kommer ut får finns",
        "pl": "w i na z nie się do to że jest o jak od a po za co przez dla ale tym czy są był być już jego może "
        "tego oraz która tylko przy które ich także było ze jej tej pod te ma",
    }.items()
}
SCRIPTS = {
    "ja": "\u3040-\u30ff",
    "zh": HAN,
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "ar": "\u0600-\u06ff",
    "he": "\u0590-\u05ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
}
