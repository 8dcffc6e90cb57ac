import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

/** PEM files, named as the variables of a process name them. */
export interface CertificateFiles {
  TLS_CERT_FILE: string;
  TLS_KEY_FILE: string;
  TLS_CA_FILE: string;
}

export interface Authority {
  /** Its certificate. */
  caFile: string;
  /** Writes `<name>.crt` and `<name>.key` into its folder, anew when there are such; good for these hosts, names or addresses. */
  issue(name: string, hosts: string[]): Promise<CertificateFiles>;
}

const DAYS = ["-days", "1"];
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Makes certificates with the openssl of this machine; `name` begins the names of its own files. */
export async function createAuthority(folder: string, name = "ca"): Promise<Authority> {
  const [caFile, caKey] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  await openssl("req", "-x509", ...KEY, ...DAYS, "-subj", `/CN=${name}`, "-keyout", caKey, "-out", caFile);
  return {
    caFile,
    async issue(subject, hosts) {
      const [cert, key, request, extensions] = ["crt", "key", "csr", "ext"].map((ending) =>
        join(folder, `${subject}.${ending}`),
      ) as [string, string, string, string];
      const names = hosts.map((host) => `${isIP(host) ? "IP" : "DNS"}:${host}`).join(",");
      await writeFile(extensions, `subjectAltName=${names}\n`);
      await openssl("req", ...KEY, "-subj", `/CN=${subject}`, "-keyout", key, "-out", request);
      // Not from the authority's file of serials: certificates are issued at the same time.
      const serial = `0x01${randomBytes(15).toString("hex")}`;
      const by = ["-CA", caFile, "-CAkey", caKey, "-set_serial", serial];
      await openssl("x509", "-req", ...by, ...DAYS, "-in", request, "-extfile", extensions, "-out", cert);
      return { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, TLS_CA_FILE: caFile };
    },
  };
}

async function openssl(...args: string[]): Promise<void> {
  await promisify(execFile)("openssl", args);
}
