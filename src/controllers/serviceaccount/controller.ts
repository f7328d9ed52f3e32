/** Creates the default service account of every namespace. */
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { everyNamespaceController } from '../every-namespace/controller.ts'
import { DEFAULT_ACCOUNT, nextStep } from './reconcile.ts'

export const serviceAccountController = everyNamespaceController({
  name: 'serviceaccount-controller',
  identity: 'service-account-controller',
  kind: ServiceAccount,
  objectName: DEFAULT_ACCOUNT,
  nextStep,
})
