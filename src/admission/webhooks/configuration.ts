/** WebhookAdmissionConfiguration: the kubeconfig file that says as whom webhooks are called, and where manifests are. */
import { isAbsolute } from 'node:path'
import { invalid, refTo } from '../../schema/refs.ts'
import { message, string } from '../../schema/types.ts'
import { pluginConfiguration, validateManifestsDir } from '../plugin-configuration.ts'

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
