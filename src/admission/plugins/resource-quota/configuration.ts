/** ResourceQuotaConfiguration: what may be used only where a quota is about it. */
import { ScopedResourceSelectorRequirement } from '../../../kinds/core/resourcequota.ts'
import { refTo, required } from '../../../schema/refs.ts'
import { atomic, message, type Static, string } from '../../../schema/types.ts'
import { pluginConfiguration } from '../../plugin-configuration.ts'

const LimitedResource = message('LimitedResource', {
  apiGroup: [1, string],
  resource: [2, string],
  matchContains: [3, atomic(string)],
  matchScopes: [4, atomic(ScopedResourceSelectorRequirement)],
})
/** A resource that needs a covering quota: one on each name that is used and matches, and one with each scope that matches. */
export type LimitedResource = Static<typeof LimitedResource>

export const RESOURCE_QUOTA_CONFIGURATION = pluginConfiguration({
  plugin: 'ResourceQuota',
  accepts: {
    'apiserver.config.{group_domain}/v1': 'ResourceQuotaConfiguration',
    'resourcequota.admission.{group_domain}/v1beta1': 'Configuration',
    'resourcequota.admission.{group_domain}/v1alpha1': 'Configuration',
  },
  type: message('ResourceQuotaConfiguration', { limitedResources: [1, atomic(LimitedResource)] }),
  *validate({ limitedResources = [] }) {
    const at = refTo({ limitedResources })
    for (const [i, { resource }] of limitedResources.entries()) if (!resource) yield required(at.limitedResources[i]!.resource)
  },
  settings: ({ limitedResources = [] }): readonly LimitedResource[] => limitedResources,
})
