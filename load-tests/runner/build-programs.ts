import { prepare } from "@tidings/charts/test/programs";
import { k6Program } from "./k6.ts";

/** `npm run build:programs`: builds Helm, kubeconform and k6 from their sources where they are not there yet, which takes minutes. */
await prepare();
await k6Program();
