/** The service account that pods run as unless they say otherwise: every namespace has it. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Step } from '../every-namespace/controller.ts'

export const DEFAULT_ACCOUNT = 'default'

/** The account is made when it is not there; what others make of it is theirs. */
export const nextStep = (stored: AnyObject | undefined): Step | undefined =>
  stored ? undefined : { step: 'create', object: { metadata: { name: DEFAULT_ACCOUNT } } }
