/** AlwaysAdmit and AlwaysDeny, which Kubernetes keeps for configurations that still name them. */

import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'

export const alwaysAdmit: Plugin = { name: 'AlwaysAdmit' }

const deny = (attributes: Attributes): never => {
  throw forbidden(attributes, 'admission control is denying all modifications')
}

export const alwaysDeny: Plugin = { name: 'AlwaysDeny', mutate: deny, validate: deny }
