/**
 * Custom kinds as they come and go: follows CustomResourceDefinitions, serves what they define and keeps their status.
 *
 * One definition is looked at at a time, and always as it is stored then:
 *
 *     changed ─→ names and conditions ─→ kind served ─→ status written          docs/custom-kinds.md tells it at length
 *     deleted ─→ no more creates ─→ objects deleted ─→ finalizer taken away ─→ kind gone
 *
 * The kind is there before the status says so: whoever sees `Established` can use it.
 */
import { createHash } from 'node:crypto'
import type { Caches } from '../cache/caches.ts'
import { stringifyJson } from '../codec/json.ts'
import { validateCABundle } from '../kinds/apiextensions/conversion-rules.ts'
import type { Json } from '../lib/json-value.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { refTo } from '../schema/refs.ts'
import type { Resource } from '../schema/resource.ts'
import { Cleanup } from './cleanup.ts'
import { type CompiledKind, type Converter, compileDefinition, type State } from './compile.ts'
import { type CustomDefinition, isServed, isTerminating } from './definition.ts'
import { hasItsNames } from './names.ts'
import { settledStatus } from './status.ts'

export type CustomKindsParts = {
  readonly client: LocalClient
  /** The resource of the definitions themselves. */
  readonly definitions: Resource
  readonly catalog: Catalog
  readonly caches: Caches
  readonly groupDomain: string
  /** Makes what converts between versions of a kind by asking a webhook. */
  readonly converter: (definition: CustomDefinition) => Converter
  /** Told what went wrong with a definition; it is tried again. */
  readonly onError: (name: string, error: unknown) => void
  readonly signal: AbortSignal
}

/** `content` tells one state of a definition from another. */
type Installed = CompiledKind & { readonly uid: string; readonly content: string; readonly state: State }

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 10_000

export class CustomKinds {
  readonly #parts: CustomKindsParts
  readonly #installed = new Map<string, Installed>()
  readonly #queue = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #cleanup: Cleanup
  #working: Promise<void> | undefined

  constructor(parts: CustomKindsParts) {
    this.#parts = parts
    this.#cleanup = new Cleanup({ ...parts, homeOf: name => this.#installed.get(name)?.home })
  }

  /** Serves what is defined, then follows what changes. Resolves when all that was there has been dealt with. */
  async start(): Promise<void> {
    const { client, definitions, signal } = this.#parts
    client.follow(definitions, change => (change ? this.#enqueue(nameOf(change.object())) : this.#enqueueAll()), signal)
    this.#enqueueAll()
    await this.#working
  }

  #enqueueAll(): void {
    for (const definition of this.#definitions()) this.#enqueue(nameOf(definition))
    for (const name of this.#installed.keys()) this.#enqueue(name)
  }

  #enqueue(name: string): void {
    if (this.#parts.signal.aborted) return
    this.#queue.add(name)
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    for (const name of this.#queue) {
      this.#queue.delete(name)
      try {
        await this.#reconcile(name)
        this.#failures.delete(name)
      } catch (error) {
        this.#retryLater(name, error)
      }
    }
    this.#working = undefined
  }

  #retryLater(name: string, error: unknown): void {
    const { signal, onError } = this.#parts
    if (signal.aborted) return
    onError(name, error)
    const failures = this.#failures.get(name) ?? 0
    this.#failures.set(name, failures + 1)
    const timer = setTimeout(() => this.#enqueue(name), Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS))
    timer.unref()
  }

  async #reconcile(name: string): Promise<void> {
    const { client, definitions, groupDomain } = this.#parts
    const definition = this.#find(name)
    if (!definition) return this.#gone(name)
    const group = { [Symbol.iterator]: () => this.#inGroup(definition.spec.group) }
    const status = settledStatus(definition, { group, now: client.now, groupDomain, isTrusted })
    const settled = { ...definition, status }
    if (isServed(settled)) await this.#install(settled)
    else this.#uninstall(name)
    if (status !== definition.status) {
      // When somebody else came first there is another change to look at.
      await client.replace(definitions, settled, 'status')
      this.#namesChanged(definition.spec.group)
    }
    if (definition.metadata.deletionTimestamp !== undefined) this.#cleanup.start(name)
  }

  #gone(name: string): void {
    this.#cleanup.stop(name)
    this.#uninstall(name)
    this.#namesChanged(name.slice(name.indexOf('.') + 1))
  }

  /** A name may have been given up that another definition waits for. */
  #namesChanged(group: string): void {
    for (const definition of this.#inGroup(group)) if (!hasItsNames(definition)) this.#enqueue(nameOf(definition))
  }

  async #install(definition: CustomDefinition): Promise<void> {
    const { catalog, caches, converter } = this.#parts
    const name = nameOf(definition)
    const { spec, status, metadata } = definition
    if (this.#installed.get(name)?.uid !== metadata.uid) this.#uninstall(name)
    const former = this.#installed.get(name)
    const terminating = isTerminating(definition)
    const state = former?.state ?? { terminating }
    if (state.terminating !== terminating) {
      state.terminating = terminating
      catalog.touch()
    }
    const content = contentOf(definition)
    if (former?.content === content || this.#isBuiltIn(definition)) return
    const convert = spec.conversion?.strategy === 'Webhook' ? converter(definition) : undefined
    const compiled = compileDefinition(definition, { names: status.acceptedNames, convert, state })
    await caches.join(compiled.home, () => {
      for (const resource of former?.served ?? []) catalog.remove(resource)
      for (const resource of compiled.served) catalog.add(resource)
      this.#installed.set(name, { ...compiled, uid: metadata.uid!, content, state })
    })
  }

  /** What is built in stays what it is, whatever is defined beside it. */
  #isBuiltIn({ spec, status }: CustomDefinition): boolean {
    for (const { def, group, plural } of this.#parts.catalog)
      if (!def.custom && group === spec.group && plural === status.acceptedNames.plural) return true
    return false
  }

  #uninstall(name: string): void {
    const installed = this.#installed.get(name)
    if (!installed) return
    this.#installed.delete(name)
    for (const resource of installed.served) this.#parts.catalog.remove(resource)
    this.#parts.caches.leave(installed.home)
  }

  #find(name: string): CustomDefinition | undefined {
    return this.#parts.client.get(this.#parts.definitions, { name }) as CustomDefinition | undefined
  }

  *#inGroup(group: string): Generator<CustomDefinition> {
    for (const definition of this.#definitions()) if (definition.spec.group === group) yield definition
  }

  #definitions(): Iterable<CustomDefinition> {
    return this.#parts.client.list(this.#parts.definitions) as Iterable<CustomDefinition>
  }
}

const specs = new WeakMap<object, string>()

/** All that a kind is made from, in few bytes. Definitions can be large and are looked at often; one that is stored is not read twice. */
function contentOf({ spec, status }: CustomDefinition): string {
  let hash = specs.get(spec)
  if (hash === undefined) {
    hash = createHash('sha256')
      .update(stringifyJson(spec as unknown as Json))
      .digest('base64')
    specs.set(spec, hash)
  }
  return `${hash} ${stringifyJson(status.acceptedNames as unknown as Json)}`
}

const nameOf = ({ metadata }: { readonly metadata: { readonly name?: string } }): string => metadata.name ?? ''

/** Whether the certificates that a webhook is trusted by can be used. */
function isTrusted({ spec }: CustomDefinition): boolean {
  const { caBundle } = spec.conversion?.webhook?.clientConfig ?? {}
  return !caBundle || [...validateCABundle(caBundle, refTo(''))].length === 0
}
