/**
 * The policy of pages that authors write: their scripts run in an origin of their own, so that they reach nothing of whatever else is on this
 * host (HTML, 7.1.5; CSP 3, sandbox). `frames` may show the page.
 */
export function sandboxPolicy(frames: "'none'" | "*" = "'none'"): string {
  const allowed =
    "allow-forms allow-downloads allow-popups allow-scripts allow-top-navigation-by-user-activation";
  return `sandbox ${allowed}; frame-ancestors ${frames}`;
}
