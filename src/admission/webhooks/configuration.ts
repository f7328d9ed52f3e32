/** WebhookAdmissionConfiguration: the kubeconfig file that says as whom webhooks are called. */
import { isAbsolute } from 'node:path'
import { invalid, refTo } from '../../schema/refs.ts'
import { message, string } from '../../schema/types.ts'
import { noManifests, pluginConfiguration } from '../plugin-configuration.ts'

export const webhookConfiguration = (plugin: 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook') =>
  pluginConfiguration({
    plugin,
    accepts: { 'apiserver.config.{group_domain}/v1': 'WebhookAdmissionConfiguration' },
    type: message('WebhookAdmission', { kubeConfigFile: [1, string], staticManifestsDir: [2, string] }),
    *validate({ kubeConfigFile = '', staticManifestsDir }) {
      if (kubeConfigFile !== '' && !isAbsolute(kubeConfigFile))
        yield invalid(refTo({ kubeConfigFile }).kubeConfigFile, 'must be an absolute file path')
      yield* noManifests(staticManifestsDir)
    },
    settings: ({ kubeConfigFile = '' }) => kubeConfigFile,
  })
