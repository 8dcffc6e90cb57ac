/** Puts markup at the beginning of the body of a document, or of the document where it has no such tag. */
export function atBodyStart(document: string, markup: string): string {
  const tag = /<body[^>]{0,2000}>/i.exec(document);
  const at = tag ? tag.index + tag[0].length : 0;
  return document.slice(0, at) + markup + document.slice(at);
}

/** Puts markup before the end of the body of a document, or at the end of the document where it has no such tag. */
export function atBodyEnd(document: string, markup: string): string {
  // A script or a comment may have such a tag, too: the last one ends the body.
  const at = [...document.matchAll(/<\/body\s{0,20}>/gi)].at(-1)?.index ?? document.length;
  return document.slice(0, at) + markup + document.slice(at);
}
