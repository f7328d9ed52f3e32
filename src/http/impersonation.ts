/** Impersonation: the user in the headers, and whether the requestor may act as that user. */

import type { Authorizer } from '../authz/authorizer.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import { goQuote } from '../lib/go-text.ts'
import { linesOf, unescapeKey } from '../lib/header-lines.ts'
import { setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { isDNS1123Subdomain, isDomainPrefixedPath } from '../lib/names.ts'
import { accountGroups, readAccountUser } from '../lib/service-account-name.ts'
import type { Attributes } from '../schema/access.ts'
import { forbidden } from '../schema/forbidden.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import type { Request } from './message.ts'

/** The user that a request impersonates, exactly as in its headers. */
export type ImpersonatedUser = {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

const PREFIX = 'impersonate-'
const EXTRA = 'impersonate-extra-'

/** Reads the headers; undefined for a request without impersonation. Throws a StatusError when they name no user. */
export function impersonatedUser(request: Pick<Request, 'headers' | 'headerLines'>): ImpersonatedUser | undefined {
  const { headers } = request
  let isAsked = false
  for (const name in headers) if (name.startsWith(PREFIX)) isAsked = true
  if (!isAsked) return undefined
  let first: string | undefined
  let firstUid: string | undefined
  const groups: string[] = []
  const extra = new Map<string, string[]>()
  for (const [field, value] of linesOf(request)) {
    if (field === 'impersonate-user') first ??= value
    else if (field === 'impersonate-uid') firstUid ??= value
    else if (field === 'impersonate-group') groups.push(value)
    else if (field.startsWith(EXTRA)) {
      const key = unescapeKey(field.slice(EXTRA.length))
      extra.set(key, [...(extra.get(key) ?? []), value])
    }
  }
  const [name, uid] = [first ?? '', firstUid ?? '']
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && extra.size === 0) return undefined
  throw badRequest(`requested ${goText({ name, uid, groups, extra })} without impersonating a user name`)
}

function goText({ name, uid, groups, extra }: ImpersonatedUser): string {
  const list = (values: readonly string[]) => (values.length === 0 ? '[]string(nil)' : `[]string{${values.map(goQuote).join(', ')}}`)
  const keys = [...extra.keys()].sort()
  const pairs = keys.map(key => `${goQuote(key)}:${list(extra.get(key)!)}`).join(', ')
  const map = keys.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${pairs}}`
  return `&user.DefaultInfo{Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${list(groups)}, Extra:${map}}`
}

export type ImpersonationParts = {
  readonly authorizer: Authorizer
  readonly groupDomain: string
  /** Whether impersonation may be allowed for certain requests only (constrained impersonation). */
  readonly isConstrained: boolean
}

/** A request with impersonation. */
type Attempt = {
  readonly impersonated: ImpersonatedUser
  readonly requestor: User
  readonly attributes: Attributes
  readonly request: { readonly signal: Cancellation }
}

/** A mode in which impersonation can be allowed. The last one is the unconstrained verb `impersonate`. */
type Mode = {
  readonly name: string
  readonly applies: (impersonated: ImpersonatedUser, requestor: User) => boolean
  /** Changes the attributes of the check, where they differ from the request's. */
  readonly as?: (requestor: User, attributes: Attributes, isOfUser: boolean) => { requestor: User; attributes: Attributes }
}

/** From this number on, one check for all of them is tried before one for each. */
const MANY = 4
const LEGACY = 'impersonate'

/** The user that a request goes on as, and the verb that allowed it where it was a constrained one. */
export type Impersonated = { readonly user: User; readonly constraint: string | undefined }

/** Decides which users may impersonate which others. */
export class Impersonation {
  readonly #parts: ImpersonationParts
  readonly #modes: readonly (Mode | typeof LEGACY)[]
  /** The mode that last allowed a user to act as another: it is tried first, and its refusal is the one that is reported. */
  readonly #last = new Map<string, number>()

  constructor(parts: ImpersonationParts) {
    this.#parts = parts
    this.#modes = parts.isConstrained ? [...MODES, LEGACY] : [LEGACY]
  }

  /** The user that the request continues as. Throws a StatusError when no mode allows it. */
  async become(attempt: Attempt): Promise<Impersonated> {
    const { name } = attempt.requestor
    const first = this.#last.get(name)
    const order = this.#modes.map((_, i) => i)
    if (first !== undefined) order.unshift(...order.splice(first, 1))
    let refusal: StatusError | undefined
    for (const i of order) {
      try {
        const user = await this.#try(this.#modes[i]!, attempt)
        if (!user) continue
        this.#remember(name, i)
        const mode = this.#modes[i]!
        return { user, constraint: mode === LEGACY ? undefined : `${LEGACY}:${mode.name}` }
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        refusal ??= error
      }
    }
    throw refusal!
  }

  #remember(name: string, mode: number): void {
    this.#last.delete(name)
    this.#last.set(name, mode)
    if (this.#last.size > LIMITS.cachedImpersonations) this.#last.delete(this.#last.keys().next().value!)
  }

  /** Undefined when the mode does not apply to such users. */
  async #try(mode: Mode | typeof LEGACY, attempt: Attempt): Promise<User | undefined> {
    if (mode === LEGACY) return this.#checkUser(attempt, undefined)
    const { impersonated, requestor, attributes } = attempt
    if (!mode.applies(impersonated, requestor)) return undefined
    await this.#check(mode, attempt, { ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` })
    return this.#checkUser(attempt, mode)
  }

  /** Checks each attribute of the requested user, and returns the user. */
  async #checkUser(attempt: Attempt, mode: Mode | undefined): Promise<User> {
    const { impersonated } = attempt
    const ask = (question: Question) => this.#check(mode, attempt, this.#attributes(mode, question), 'of the user')
    const refuse = (question: Question, why: string) => forbidden(attempt.requestor, this.#attributes(mode, question), why)
    const node = mode && readNodeUser(impersonated.name)
    const account = readAccountUser(impersonated.name)
    const groups = node
      ? ['system:nodes']
      : account && impersonated.groups.length === 0
        ? accountGroups(account.namespace)
        : [...impersonated.groups]
    if (account) await ask({ plural: 'serviceaccounts', ...account })
    else await ask(node ? { plural: 'nodes', name: node } : { plural: 'users', name: impersonated.name })
    if (impersonated.uid !== '') await ask({ plural: 'uids', name: impersonated.uid })
    await askGroups(impersonated.groups, { ask, refuse, isConstrained: mode !== undefined })
    await askExtra(impersonated.extra, { ask, refuse, isConstrained: mode !== undefined })
    return userOf(impersonated, groups)
  }

  #attributes(mode: Mode | undefined, { plural, name, namespace = '', subresource = '' }: Question): Attributes {
    const authentication = `authentication.${this.#parts.groupDomain}`
    const isOld = mode === undefined && plural !== 'uids' && plural !== 'userextras'
    const verb = mode === undefined ? LEGACY : `${LEGACY}:${mode.name}`
    return { verb, path: '', resource: { group: isOld ? '' : authentication, version: 'v1', plural, subresource, namespace, name } }
  }

  async #check(mode: Mode | undefined, { requestor, request }: Attempt, attributes: Attributes, isOfUser?: 'of the user'): Promise<void> {
    const asked = mode?.as?.(requestor, attributes, isOfUser !== undefined) ?? { requestor, attributes }
    const decision = await this.#parts.authorizer.authorize(asked.requestor, asked.attributes, request)
    if (decision.verdict !== 'allow') throw forbidden(asked.requestor, asked.attributes, decision.reason)
  }
}

type Question = { readonly plural: string; readonly name: string; readonly namespace?: string; readonly subresource?: string }
type Asking = {
  readonly ask: (question: Question) => Promise<void>
  readonly refuse: (question: Question, why: string) => StatusError
  readonly isConstrained: boolean
}

async function askGroups(groups: readonly string[], { ask, refuse, isConstrained }: Asking): Promise<void> {
  const plural = 'groups'
  if (isConstrained) {
    if (groups.includes('')) throw refuse({ plural, name: '' }, 'impersonating the empty string group is not allowed')
    if (groups.includes(MASTERS)) throw refuse({ plural, name: MASTERS }, `impersonating the ${MASTERS} group is not allowed`)
    if (groups.length >= MANY && (await isAllowed(ask({ plural, name: '*' })))) return
  }
  for (const name of groups) await ask({ plural, name })
}
const MASTERS = 'system:masters'

async function askExtra(extra: ImpersonatedUser['extra'], { ask, refuse, isConstrained }: Asking): Promise<void> {
  const plural = 'userextras'
  if (isConstrained) {
    const fault = faultOfExtra(extra)
    if (fault !== undefined) throw refuse({ plural, name: '' }, fault)
    const count = [...extra.values()].reduce((sum, values) => sum + values.length, 0)
    if (count >= MANY && (await isAllowed(ask({ plural, subresource: '*', name: '*' })))) return
  }
  for (const [subresource, values] of extra) for (const name of values) await ask({ plural, subresource, name })
}

/** The error for extra attributes that constrained impersonation forbids. */
function faultOfExtra(extra: ImpersonatedUser['extra']): string | undefined {
  for (const [key, values] of extra) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed'
    const faults = isDomainPrefixedPath(key).map(fault =>
      fault.type === 'required' ? 'extra.key: Required value' : `extra.key: Invalid value: ${goQuote(fault.value)}: ${fault.message}`,
    )
    if (faults.length > 0)
      return `impersonating an invalid key in extra is not allowed: ${faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`}`
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${goQuote(key)}`
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed'
  }
  return undefined
}

async function isAllowed(asked: Promise<void>): Promise<boolean> {
  try {
    await asked
    return true
  } catch (error) {
    if (error instanceof StatusError) return false
    throw error
  }
}

/** Every user except the anonymous one is in system:authenticated, unless the request names system:unauthenticated. */
function userOf({ name, uid, extra }: ImpersonatedUser, groups: string[]): User {
  const unknown = 'system:unauthenticated'
  const added = name === 'system:anonymous' ? unknown : 'system:authenticated'
  if (!groups.includes(added) && !groups.includes(unknown)) groups.push(added)
  const attributes: Record<string, readonly string[]> = {}
  for (const [key, values] of extra) setOwn(attributes, key, values)
  return { name, groups, ...(uid !== '' && { uid }), ...(extra.size > 0 && { extra: attributes }) }
}

const NODE = 'system:node:'
const readNodeUser = (user: string): string | undefined =>
  user.startsWith(NODE) && isDNS1123Subdomain(user.slice(NODE.length)).length === 0 ? user.slice(NODE.length) : undefined
const isNameOnly = ({ uid, groups, extra }: ImpersonatedUser) => uid === '' && groups.length === 0 && extra.size === 0
const NODE_NAME = 'authentication.kubernetes.io/node-name'

const MODES: readonly Mode[] = [
  {
    name: 'associated-node',
    applies(impersonated, { name, extra = {} }) {
      const node = readNodeUser(impersonated.name)
      const own = Object.hasOwn(extra, NODE_NAME) ? extra[NODE_NAME]! : []
      return isNameOnly(impersonated) && node !== undefined && readAccountUser(name) !== undefined && own.length === 1 && own[0] === node
    },
    // The permission is to act as the node on which the account runs, so the node and pod are not part of the check.
    as: (requestor, attributes, isOfUser) => ({
      requestor: {
        ...requestor,
        extra: { 'authentication.kubernetes.io/associated-node-keys': Object.keys(requestor.extra ?? {}).sort() },
      },
      attributes: isOfUser ? { ...attributes, resource: { ...attributes.resource!, name: '*' } } : attributes,
    }),
  },
  { name: 'arbitrary-node', applies: impersonated => isNameOnly(impersonated) && readNodeUser(impersonated.name) !== undefined },
  { name: 'serviceaccount', applies: impersonated => isNameOnly(impersonated) && readAccountUser(impersonated.name) !== undefined },
  { name: 'user-info', applies: ({ name }) => readNodeUser(name) === undefined && readAccountUser(name) === undefined },
]
