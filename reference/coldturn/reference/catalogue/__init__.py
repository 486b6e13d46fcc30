"""What servers offer, with versions and soft delete: definitions, the table, the paged walk."""

from coldturn.reference.catalogue.definition import CatalogueTool, Definition
from coldturn.reference.catalogue.store import CatalogueStore, Commit, Snapshot

__all__ = ["CatalogueStore", "CatalogueTool", "Commit", "Definition", "Snapshot"]
