/** The configuration of the plugins of webhooks and policies: the folder of their manifests, and the credentials for webhooks. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { type FieldError, forbidden, invalid, refTo } from '../schema/refs.ts'
import { message, string } from '../schema/types.ts'
import { pluginConfiguration } from './plugin-configuration.ts'

export const policyConfiguration = (plugin: 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy') =>
  pluginConfiguration({
    plugin,
    accepts: { 'apiserver.config.{group_domain}/v1': `${plugin}Configuration` },
    type: message('PolicyConfiguration', { staticManifestsDir: [1, string] }),
    validate: ({ staticManifestsDir }, gate) => validateManifestsDir(staticManifestsDir, gate),
    settings: ({ staticManifestsDir }) => staticManifestsDir,
  })

/** The kubeconfig has the credentials with which webhooks are called. */
export const webhookConfiguration = (plugin: 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook') =>
  pluginConfiguration({
    plugin,
    accepts: { 'apiserver.config.{group_domain}/v1': 'WebhookAdmissionConfiguration' },
    type: message('WebhookAdmission', { kubeConfigFile: [1, string], staticManifestsDir: [2, string] }),
    *validate({ kubeConfigFile = '', staticManifestsDir }, gate) {
      if (kubeConfigFile !== '' && !isAbsolute(kubeConfigFile))
        yield invalid(refTo({ kubeConfigFile }).kubeConfigFile, 'must be an absolute file path')
      yield* validateManifestsDir(staticManifestsDir, gate)
    },
    settings: ({ kubeConfigFile, staticManifestsDir }) => ({ kubeConfigFile, staticManifestsDir }),
  })

const GATE = 'ManifestBasedAdmissionControlConfig'

/** The folder of manifests must exist. */
function* validateManifestsDir(staticManifestsDir: string | undefined, gate: (name: string) => boolean): Iterable<FieldError> {
  if (!staticManifestsDir) return
  const at = refTo({ staticManifestsDir }).staticManifestsDir
  if (!gate(GATE)) yield forbidden(at, `staticManifestsDir requires the ${GATE} feature gate to be enabled`)
  else if (!isAbsolute(staticManifestsDir)) yield invalid(at, 'must be an absolute file path')
  else
    try {
      if (!statSync(staticManifestsDir).isDirectory()) yield invalid(at, 'must be a directory')
    } catch (error) {
      yield invalid(at, `unable to read: ${(error as Error).message}`)
    }
}
