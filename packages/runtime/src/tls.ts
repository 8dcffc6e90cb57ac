import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";
import { ConfigError } from "./config.ts";
import type { Log } from "./log.ts";

/** PEM: what a process shows to others, and whose certificates it believes. */
export interface TlsFiles {
  cert: Buffer;
  key: Buffer;
  ca: Buffer;
}

/** How the processes know each other: every connection between them has a certificate on both ends. */
export interface Tls {
  /** As of the last look. */
  readonly files: Readonly<TlsFiles>;
  /** The same, for connections that are opened from here. */
  readonly context: SecureContext;
  /** `listener` hears of files that are others than before. Connections that stand stay as they are. */
  onChange(listener: (files: Readonly<TlsFiles>) => void): void;
}

export interface TlsConfig {
  TLS_CERT_FILE?: string | undefined;
  TLS_KEY_FILE?: string | undefined;
  TLS_CA_FILE?: string | undefined;
}

const LOOK_MS = 10_000;

/**
 * Reads the three files, and again every `lookMs`; undefined when none is named. Throws when only some are, or when they are of no
 * use. Files that are of no use later, such as a certificate whose key has not come yet, are logged and those before stay.
 */
export function openTls(config: TlsConfig, log: Log, lookMs = LOOK_MS): Tls | undefined {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, TLS_CA_FILE: ca } = config;
  if (!cert && !key && !ca) return undefined;
  if (!cert || !key || !ca)
    throw new ConfigError("TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE: all three or none");
  const read = () => ({ cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) });
  const listeners: ((files: TlsFiles) => void)[] = [];
  let files: TlsFiles = read();
  let context = contextOf(files);

  const look = () => {
    const found = read();
    if (isSame(found, files)) return;
    context = contextOf(found);
    files = found;
    log.info("certificates were changed");
    for (const listener of listeners) listener(files);
  };
  setInterval(() => {
    try {
      look();
    } catch (error) {
      log.warn({ err: error }, "certificates were changed and cannot be used");
    }
  }, lookMs).unref();
  return {
    get files() {
      return files;
    },
    get context() {
      return context;
    },
    onChange: (listener) => listeners.push(listener),
  };
}

/** Throws when the key is not that of the certificate. */
function contextOf(files: TlsFiles): SecureContext {
  return createSecureContext({ ...files, minVersion: "TLSv1.3" });
}

function isSame(one: TlsFiles, other: TlsFiles): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);
}
