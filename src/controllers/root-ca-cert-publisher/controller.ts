/** Publishes the certificate authority of the server to every namespace. */
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { everyNamespaceController } from '../every-namespace/controller.ts'
import { nextStep, ROOT_CA } from './reconcile.ts'

/** `authority` is in PEM. */
export const rootCaPublisher = (authority: string) =>
  everyNamespaceController({
    name: 'root-ca-certificate-publisher-controller',
    identity: 'root-ca-cert-publisher',
    kind: ConfigMap,
    objectName: ROOT_CA,
    nextStep: stored => nextStep(authority, stored),
  })
