"""COAR Resource Types: what kind of thing an item is, as repositories tell it to each other.

A description says it in words: the English label is a value of `type`, and the kind of DCMI beside it is the
`resource_type`. So records of every version and make can say it, and items described by hand before there was a list
are understood where they used the same words, in any of the three languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ibi.model.metadata import DescriptiveMetadata, ResourceType, Text

COAR_PREFIX: Final = "http://purl.org/coar/resource_type/"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class CoarType:
    """A concept of the vocabulary. The labels are in English, Portuguese and Spanish."""

    code: str
    en: str
    pt: str
    es: str
    kind: ResourceType
    """The kind of DCMI that it belongs to."""
    depth: int = 0
    """How deep it stands in its group: 0 for the first of a group, which includes those that follow it."""

    @property
    def uri(self) -> str:
        return f"{COAR_PREFIX}{self.code}"

    def label(self, language: str) -> str:
        """In the language of a page, such as `pt-BR`; in English if it has none there."""
        match language[:2].lower():
            case "pt":
                return self.pt
            case "es":
                return self.es
        return self.en


# code | English | Portuguese | Spanish; two spaces for each level. Of the vocabulary's version 3.1, the concepts that
# depositors choose; those that patent offices and trademark registers need are left out.
_TABLE: Final[Mapping[ResourceType, str]] = {
    ResourceType.TEXT: """
        c_18cf|text|texto|texto
          c_2f33|book|livro|libro
            c_3248|book part|capítulo ou parte de livro|capítulo o parte de libro
          c_86bc|bibliography|bibliografia|bibliografía
          c_6947|blog post|publicação em blog|entrada de blog
          c_c94f|conference output|produção de conferência|producción de conferencia
            c_5794|conference paper|artigo de conferência|artículo de conferencia
            c_18cp|conference paper not in proceedings|trabalho de conferência fora dos anais|ponencia fuera de actas
            c_6670|conference poster|pôster de conferência|póster de conferencia
            c_18co|conference poster not in proceedings|pôster de conferência fora dos anais|póster fuera de actas
            R60J-J5BD|conference presentation|apresentação em conferência|presentación de conferencia
            c_f744|conference proceedings|anais de conferência|actas de conferencia
          c_0640|journal|periódico científico|revista científica
            c_6501|journal article|artigo de periódico|artículo de revista
              c_2df8fbb1|research article|artigo de pesquisa|artículo de investigación
              c_dcae04bc|review article|artigo de revisão|artículo de revisión
              c_beb9|data paper|artigo de dados|artículo de datos
              c_7bab|software paper|artigo de software|artículo de software
              c_7acd|corrigendum|errata|corrección
            c_b239|editorial|editorial|editorial
            c_545b|letter to the editor|carta ao editor|carta al editor
          c_8544|lecture|aula ou palestra|clase o conferencia magistral
          c_0857|letter|carta|carta
          c_2cd9|magazine|revista de divulgação|revista de divulgación
          c_0040|manuscript|manuscrito|manuscrito
          c_18cw|musical notation|notação musical|notación musical
          c_2fe3|newspaper|jornal|periódico
            c_998f|newspaper article|artigo de jornal|artículo de periódico
          c_816b|preprint|preprint|preprint
          c_93fc|report|relatório|informe
            c_ab20|data management plan|plano de gestão de dados|plan de gestión de datos
            c_18ww|internal report|relatório interno|informe interno
            c_18wz|memorandum|memorando|memorando
            c_186u|policy report|relatório de política|informe de políticas
            c_18op|project deliverable|entregável de projeto|entregable de proyecto
            c_18hj|report to funding agency|relatório para órgão financiador|informe a organismo financiador
            YZ1N-ZFT9|research protocol|protocolo de pesquisa|protocolo de investigación
            c_18ws|research report|relatório de pesquisa|informe de investigación
            c_18gh|technical report|relatório técnico|informe técnico
          c_baaf|research proposal|proposta de pesquisa|propuesta de investigación
          c_efa0|review|resenha|reseña
            c_ba08|book review|resenha de livro|reseña de libro
            D97F-VB57|commentary|comentário|comentario
            H9BQ-739P|peer review|revisão por pares|revisión por pares
          c_71bd|technical documentation|documentação técnica|documentación técnica
          c_46ec|thesis|tese ou dissertação|tesis
            c_7a1f|bachelor thesis|trabalho de conclusão de curso|tesis de grado
            c_bdcc|master thesis|dissertação de mestrado|tesis de maestría
            c_db06|doctoral thesis|tese de doutorado|tesis doctoral
          6NC7-GK9S|transcription|transcrição|transcripción
          c_8042|working paper|documento de trabalho|documento de trabajo
          c_15cd|patent|patente|patente
    """,
    ResourceType.DATASET: """
        c_ddb1|dataset|conjunto de dados|conjunto de datos
          ACF7-8YT9|aggregated data|dados agregados|datos agregados
          c_cb28|clinical trial data|dados de ensaio clínico|datos de ensayo clínico
          FXF3-D3G7|compiled data|dados compilados|datos compilados
          AM6W-6QAW|encoded data|dados codificados|datos codificados
          63NG-B465|experimental data|dados experimentais|datos experimentales
          A8F1-NPV9|genomic data|dados genômicos|datos genómicos
          2H0M-X761|geospatial data|dados geoespaciais|datos geoespaciales
          H41Y-FW7B|laboratory notebook|caderno de laboratório|cuaderno de laboratorio
          DD58-GFSX|measurement and test data|dados de medição e ensaio|datos de medición y ensayo
          FF4C-28RK|observational data|dados observacionais|datos observacionales
          CQMR-7K63|recorded data|dados registrados|datos registrados
          W2XT-7017|simulation data|dados de simulação|datos de simulación
          NHD0-W6SY|survey data|dados de levantamento|datos de encuesta
    """,
    ResourceType.SOFTWARE: """
        c_5ce6|software|software|software
          c_c950|research software|software de pesquisa|software de investigación
          QH80-2R4E|source code|código-fonte|código fuente
        c_393c|workflow|fluxo de trabalho|flujo de trabajo
    """,
    ResourceType.IMAGE: """
        c_c513|image|imagem|imagen
    """,
    ResourceType.STILL_IMAGE: """
        c_ecc8|still image|imagem fixa|imagen fija
        c_12cc|cartographic material|material cartográfico|material cartográfico
          c_12cd|map|mapa|mapa
    """,
    ResourceType.MOVING_IMAGE: """
        c_8a7e|moving image|imagem em movimento|imagen en movimiento
          c_12ce|video|vídeo|vídeo
    """,
    ResourceType.SOUND: """
        c_18cc|sound|som|sonido
          c_18cd|musical composition|composição musical|composición musical
    """,
    ResourceType.INTERACTIVE_RESOURCE: """
        c_e9a0|interactive resource|recurso interativo|recurso interactivo
          c_7ad9|website|site|sitio web
        c_e059|learning object|objeto de aprendizagem|objeto de aprendizaje
    """,
    ResourceType.COLLECTION: """
        RMP5-3GQ6|collection|coleção|colección
    """,
}
_INDENT: Final = 8


def _read_table() -> Iterator[CoarType]:
    for kind, table in _TABLE.items():
        for line in filter(str.strip, table.splitlines()):
            code, en, pt, es = line.strip().split("|")
            yield CoarType(code, en, pt, es, kind, (len(line) - len(line.lstrip()) - _INDENT) // 2)


COAR_TYPES: Final[tuple[CoarType, ...]] = tuple(_read_table())
"""In the order of a list to choose from: each group with those that it includes below it."""


def _keys(each: CoarType) -> Iterator[str]:
    yield from (each.code, each.uri, each.uri.replace("http:", "https:"), each.en, each.pt, each.es)


# The first that has a word keeps it: `carta` is a letter in both languages.
_BY_WORD: Final = {key.casefold(): each for each in reversed(COAR_TYPES) for key in _keys(each)}
_KINDS: Final = frozenset(_TABLE)


def find_coar_type(text: str) -> CoarType | None:
    """The type that a text names: by its URI, its code, or its label in English, Portuguese or Spanish, in any case."""
    if len(text) > _LONGEST:
        return None
    return _BY_WORD.get(" ".join(text.split()).rstrip("/").casefold())


def coar_type_of(metadata: DescriptiveMetadata) -> CoarType | None:
    """The first of the types in a description that is one of COAR; or else the group of its kind of DCMI."""
    found = next(filter(None, (find_coar_type(text.value) for text in metadata.type)), None)
    if found is not None or metadata.resource_type is None:
        return found
    return next((each for each in COAR_TYPES if each.kind is metadata.resource_type and each.depth == 0), None)


def with_coar_type(metadata: DescriptiveMetadata, chosen: CoarType | None) -> DescriptiveMetadata:
    """The description, which says this type and no other of COAR. Types in words of its own stay, and without a type
    the kinds that COAR does not have. What DCMI has a word for, such as a dataset, is said by that alone."""
    others = tuple(text for text in metadata.type if find_coar_type(text.value) is None)
    if chosen is None:
        kind = metadata.resource_type
        return replace(metadata, type=others, resource_type=None if kind in _KINDS else kind)
    is_kind = chosen.en.replace(" ", "").casefold() == chosen.kind.value.casefold()
    own = () if is_kind else (Text(chosen.en),)
    return replace(metadata, type=(*own, *others), resource_type=chosen.kind)
