/** Fills secrets that are to hold the token of a service account, and takes them away with the account. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { Loop } from '../loop.ts'
import { accountOf, nextStep, TOKEN_TYPE } from './reconcile.ts'

type Named = { readonly namespace: string; readonly name: string }
type Some = { readonly field?: { readonly key: string; readonly value: string } }

/** What the controller asks of the API. Reads hold all that this controller has written. */
export interface Api {
  get(resource: Resource, name: Named): AnyObject | undefined
  list(resource: Resource, some: Some): Iterable<AnyObject>
  /** Calls back with every change, and without one when changes may have been missed. */
  follow(resource: Resource, onChange: (change?: { object(): AnyObject }) => void, signal: AbortSignal, some?: Some): void
  patch(resource: Resource, name: Named, patch: object, how: { readonly type: string }): Promise<boolean>
  remove(resource: Resource, object: AnyObject): Promise<boolean>
}

export type TokenController = {
  readonly api: Api
  readonly secrets: Resource
  readonly accounts: Resource
  /** By which clients know the server; PEM. */
  readonly authority: string
  /** Signs the token that a secret is to hold. */
  readonly sign: (account: AnyObject, secret: AnyObject) => Promise<string>
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

const OF_TOKENS: Some = { field: { key: 'type', value: TOKEN_TYPE } }

/** Starts the controller; the result settles when all that was known at the call has been dealt with. */
export async function startTokenController(parts: TokenController): Promise<void> {
  const { api, secrets, accounts, onError, signal } = parts
  const loop = new Loop<string>({ settle: key => settle(parts, namedBy(key)), onError, signal })
  const wakeWhere = (holds: (secret: AnyObject) => boolean) => loop.wakeAll([...api.list(secrets, OF_TOKENS)].filter(holds).map(keyOf))
  api.follow(secrets, change => void (change ? loop.wake(keyOf(change.object())) : wakeWhere(() => true)), signal, OF_TOKENS)
  const onAccount = (account: AnyObject) =>
    wakeWhere(secret => secret.metadata.namespace === account.metadata.namespace && accountOf(secret).name === account.metadata.name)
  api.follow(accounts, change => void (change ? onAccount(change.object()) : wakeWhere(() => true)), signal)
  await wakeWhere(() => true)
}

const keyOf = ({ metadata: { namespace = '', name = '' } }: AnyObject): string => `${namespace}/${name}`

function namedBy(key: string): Named {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}

async function settle({ api, secrets, accounts, authority, sign }: TokenController, name: Named): Promise<void> {
  const secret = api.get(secrets, name)
  if (secret?.['type'] !== TOKEN_TYPE) return
  const account = api.get(accounts, { namespace: name.namespace, name: accountOf(secret).name })
  const step = nextStep(secret, account, authority)
  if (!step) return
  if (step.step === 'delete') return void (await api.remove(secrets, secret))
  const token = step.needsToken ? { token: Buffer.from(await sign(account!, secret)).toString('base64') } : {}
  const patch = { metadata: step.patch.metadata, data: { ...step.patch.data, ...token } }
  await api.patch(secrets, name, patch, { type: 'application/merge-patch+json' })
}
