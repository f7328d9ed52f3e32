/** What ValidatingAdmissionPolicy and MutatingAdmissionPolicy can be told: nothing but where manifests are. */
import { message, string } from '../../schema/types.ts'
import { noManifests, pluginConfiguration } from '../plugin-configuration.ts'

export const policyConfiguration = (plugin: 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy') =>
  pluginConfiguration({
    plugin,
    accepts: { 'apiserver.config.{group_domain}/v1': `${plugin}Configuration` },
    type: message('PolicyConfiguration', { staticManifestsDir: [1, string] }),
    validate: ({ staticManifestsDir }) => noManifests(staticManifestsDir),
    settings: () => undefined,
  })
