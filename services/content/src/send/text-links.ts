const LINK = /\bhttps?:\/\/\S+/gi;
/** Signs behind a link that end its sentence. */
const AFTER_LINK = /[.,;:!?'")\]>]+$/;

/** The addresses in a text, each once. Those with tokens in them are left as they are: they differ from contact to contact. */
export function linksInText(text: string): string[] {
  return [...new Set((text.match(LINK) ?? []).map(withoutEnd).filter((link) => !/[{}]/.test(link)))];
}

/** The text with `{trackedlink=<id>}` in place of each address that has an id. */
export function withTrackedTextLinks(text: string, ids: ReadonlyMap<string, string>): string {
  return text.replace(LINK, (written) => {
    const link = withoutEnd(written);
    const id = ids.get(link);
    return id === undefined ? written : `{trackedlink=${id}}${written.slice(link.length)}`;
  });
}

function withoutEnd(link: string): string {
  return link.replace(AFTER_LINK, "");
}
