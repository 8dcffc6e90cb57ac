import { neighbours, readConfig, serviceConfig } from "@tidings/runtime/config";

/** Every variable the campaign service reads. */
export const campaignVariables = { ...serviceConfig, ...neighbours("contact", "content") };

export function campaignConfig(env: NodeJS.ProcessEnv) {
  return readConfig(campaignVariables, env);
}

export type CampaignConfig = ReturnType<typeof campaignConfig>;
