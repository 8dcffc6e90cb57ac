/** A template or its rendered text is larger than its limit. The message may be shown to the author of the template. */
export class TemplateError extends Error {
  override name = "TemplateError";
}
