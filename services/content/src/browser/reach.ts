import { type Members, url } from "./visitor.ts";

/**
 * Cookies are sent from pages of the public web's own origin alone. Elsewhere the kept ids replace them: a call with cookies would fail
 * wherever the server answers to any origin. `window.origin` is "null" in a sandbox, and `location.origin` is not.
 */
export function call(address: string, options?: RequestInit): Promise<Response> {
  return fetch(address, { ...options, credentials: window.origin === url ? "include" : "omit" });
}

/** Loads an image; false where that fails. */
export function isImageLoaded(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve(true);
    image.onerror = () => resolve(false);
    image.src = address;
  });
}

/** Base64 of JSON in UTF-8. */
export function packed(members: Members): string {
  const bytes = new TextEncoder().encode(JSON.stringify(members));
  return encodeURIComponent(btoa(String.fromCharCode(...bytes)));
}
