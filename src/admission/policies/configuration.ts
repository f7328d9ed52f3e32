/** The configuration of ValidatingAdmissionPolicy and MutatingAdmissionPolicy: where manifests are. */
import { message, string } from '../../schema/types.ts'
import { pluginConfiguration, validateManifestsDir } from '../plugin-configuration.ts'

export const policyConfiguration = (plugin: 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy') =>
  pluginConfiguration({
    plugin,
    accepts: { 'apiserver.config.{group_domain}/v1': `${plugin}Configuration` },
    type: message('PolicyConfiguration', { staticManifestsDir: [1, string] }),
    validate: ({ staticManifestsDir }, gate) => validateManifestsDir(staticManifestsDir, gate),
    settings: ({ staticManifestsDir }) => staticManifestsDir,
  })
