import { experimental, ServerCredentials } from "@grpc/grpc-js";
import type { Tls } from "@tidings/runtime/tls";

/** The credentials of a server, read anew for each connection. Callers have to show a certificate, too. */
export function serverCredentials(tls: Tls | undefined): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const provider = certificatesOf(tls);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

/** The library asks for authorities and for the certificate apart from each other. It listens as long as the server is there. */
function certificatesOf(tls: Tls): experimental.CertificateProvider {
  const follow = (listener: () => void) => {
    // It hears nothing before this call has returned.
    queueMicrotask(listener);
    tls.onChange(listener);
  };
  return {
    addCaCertificateListener: (listener) => follow(() => listener({ caCertificate: tls.files.ca })),
    addIdentityCertificateListener: (listener) =>
      follow(() => listener({ certificate: tls.files.cert, privateKey: tls.files.key })),
    removeCaCertificateListener: () => undefined,
    removeIdentityCertificateListener: () => undefined,
  };
}
