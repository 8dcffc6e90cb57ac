import { OWNERS } from "@tidings/proto/tidings/owners";

/** The processes whose resources are audited. This one publishes nothing. */
export const AUDITED_OWNERS = OWNERS.filter((owner) => owner !== "reporting");
