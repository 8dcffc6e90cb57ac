const SHOWN = "allow-popups allow-scripts allow-top-navigation-by-user-activation";

/**
 * The policy of pages that authors write: their scripts run in an origin of their own, so that they reach nothing of whatever else is on this
 * host (HTML, 7.1.5; CSP 3, sandbox). `frames` may show the page.
 */
export function sandboxPolicy(frames: "'none'" | "*" = "'none'"): string {
  return `sandbox allow-forms allow-downloads ${SHOWN}; frame-ancestors ${frames}`;
}

/**
 * The policy of mails that are shown as pages. Nothing in the mail runs, is sent or is loaded, except uploaded pictures: its own picture would count
 * as an open. Links open pages as they do for a reader. `picturePaths` are the paths below which pictures may be.
 */
export function mailPolicy(publicUrl: string, picturePaths = ["/media/"]): string {
  const pictures = picturePaths.map((path) => new URL(path, publicUrl).href);
  return [
    "default-src 'none'",
    `img-src data: ${pictures.join(" ")}`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "sandbox allow-popups allow-popups-to-escape-sandbox",
  ].join("; ");
}

/** The policy of pages for a preview: no form is sent from it, and nothing on it reports a visit. */
export const PREVIEW_POLICY = `sandbox ${SHOWN}; connect-src 'none'; form-action 'none'; frame-ancestors 'none'`;
