import { allowedRanges } from "@tidings/outbound/allowed-ranges";
import { apiDialect, readConfig, serviceConfig, upstreams } from "@tidings/runtime/config";

/** Every variable the campaign service reads. */
export const campaignVariables = {
  ...serviceConfig,
  ...upstreams("contact", "content", "identity"),
  API_DIALECT: apiDialect,
  /** Private ranges that events may call all the same. */
  OUTBOUND_ALLOW_CIDRS: allowedRanges.default([]),
};

export function campaignConfig(env: NodeJS.ProcessEnv) {
  return readConfig(campaignVariables, env);
}

export type CampaignConfig = ReturnType<typeof campaignConfig>;
