/** The service account that pods run as unless they say otherwise: every namespace has it. */
import type { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import type { Step } from '../every-namespace/controller.ts'

export const DEFAULT_ACCOUNT = 'default'

/** The account is created when it is not there; what others make of it is theirs. */
export const nextStep = (stored: ServiceAccount | undefined): Step<ServiceAccount> | undefined =>
  stored ? undefined : { step: 'create', object: { metadata: { name: DEFAULT_ACCOUNT } } }
