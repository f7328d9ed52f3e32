/**
 * Custom kinds as they come and go: follows CustomResourceDefinitions, serves the kinds that they define and keeps their status.
 *
 * One definition is looked at at a time, and always as it is stored then:
 *
 *     changed ─→ names and conditions ─→ kind compiled, objects read ─→ status written ─→ kind served       docs/custom-kinds.md
 *     deleted ─→ no more creates ─→ objects deleted ─→ finalizer removed ─→ kind gone                       has all of it
 *
 * A kind is served from the moment at which its `Established` condition is stored: a client that sees the condition can use the kind, and
 * one that finds the kind in discovery can change its definition without a conflict, for nothing is written to it afterwards.
 */
import type { Caches } from '../cache/caches.ts'
import type { Client, ResourceClient } from '../client/client.ts'
import { serverIdentity } from '../client/identity.ts'
import { stringifyJson } from '../codec/json.ts'
import { type Controller, type ControllerContext, defineController, watch } from '../controllers/controller.ts'
import { validateCABundle } from '../kinds/apiextensions/conversion-rules.ts'
import { CustomResourceDefinition } from '../kinds/apiextensions/customresourcedefinition.ts'
import type { Fence } from '../lib/fence.ts'
import type { Json } from '../lib/json-value.ts'
import type { Catalog } from '../registry/catalog.ts'
import { refTo } from '../schema/refs.ts'
import { keyOf } from '../schema/resource.ts'
import { noSuchResource } from '../schema/status-error.ts'
import { cleanupController } from './cleanup.ts'
import { type CompiledKind, type Converter, compileDefinition, type State } from './compile.ts'
import { type CustomDefinition, isEstablished, isTerminating } from './definition.ts'
import { hasItsNames } from './names.ts'
import { settledStatus } from './status.ts'

export type CustomKindsParts = {
  readonly catalog: Catalog
  readonly caches: Caches
  /** Makes what converts between versions of a kind by asking a webhook. */
  readonly converter: (definition: CustomDefinition) => Converter
  /** How long creates that other servers have under way may take to arrive here. */
  readonly lateMs?: number
}

/** `content` is the same for definitions that give the same kind. A kind is published when it is in the catalog. */
type Installed = CompiledKind & { readonly uid: string; readonly content: string; readonly state: State; isPublished: boolean }

/** The controllers of custom kinds: the first serves them, the second ends them. */
export function customKindControllers(parts: CustomKindsParts): readonly [serving: Controller, cleanup: Controller] {
  const installed = new Map<string, Installed>()
  const isBuiltIn = ({ spec }: CustomDefinition) => isBuiltInResource(parts.catalog, spec.group, spec.names.plural)
  const serving = defineController({
    name: 'crd_controller',
    identity: serverIdentity(),
    create(context) {
      const kinds = new CustomKinds(parts, installed, context)
      const onChange = (name: string, definition: CustomDefinition | undefined) => {
        if (definition) kinds.note(definition)
        if (definition && isEstablished(definition)) kinds.publish(name)
        return name
      }
      return {
        watches: [
          watch(CustomResourceDefinition, ({ type, current }) => onChange(current.name, type === 'deleted' ? undefined : current.object)),
        ],
        reconcile: name => kinds.reconcile(name),
      }
    },
  })
  return [
    serving,
    cleanupController({ caches: parts.caches, lateMs: parts.lateMs ?? 0, isBuiltIn, storedAs: name => installed.get(name)?.storedVersion }),
  ]
}

class CustomKinds {
  readonly #parts: CustomKindsParts
  readonly #installed: Map<string, Installed>
  readonly #context: ControllerContext
  readonly #client: Client
  readonly #definitions: ResourceClient<CustomDefinition>

  constructor(parts: CustomKindsParts, installed: Map<string, Installed>, context: ControllerContext) {
    this.#parts = parts
    this.#installed = installed
    this.#context = context
    this.#client = context.client
    this.#definitions = context.client.of(CustomResourceDefinition)
  }

  async reconcile(name: string): Promise<void> {
    const { groupDomain } = this.#context
    const definition = this.#definitions.get({ name })
    if (!definition) return this.#gone(name)
    const group = { [Symbol.iterator]: () => this.#inGroup(definition.spec.group) }
    const status = settledStatus(definition, { group, now: this.#client.now, groupDomain, isTrusted })
    const settled = { ...definition, status }
    if (isEstablished(settled)) await this.#install(settled, { isStored: isEstablished(definition) })
    else this.#uninstall(name)
    if (status === definition.status) return
    await this.#definitions.updateStatus(settled)
    this.#namesChanged(definition.spec.group)
  }

  /** Rejects creates as soon as a definition is terminating. */
  note(definition: CustomDefinition): void {
    const installed = this.#installed.get(definition.metadata.name!)
    if (!installed || installed.uid !== definition.metadata.uid || !isTerminating(definition) || installed.state.terminating) return
    installed.state.terminating = true
    this.#parts.catalog.touch()
  }

  /** Serves a kind that has been compiled. Called as soon as its definition is stored as established. */
  publish(name: string): void {
    const installed = this.#installed.get(name)
    if (!installed || installed.isPublished) return
    installed.isPublished = true
    for (const resource of installed.served) this.#parts.catalog.add(resource)
  }

  #gone(name: string): void {
    this.#uninstall(name)
    this.#namesChanged(name.slice(name.indexOf('.') + 1))
  }

  /** A name may have become free that another definition waits for. */
  #namesChanged(group: string): void {
    for (const definition of this.#inGroup(group)) if (!hasItsNames(definition)) this.#context.enqueue(definition.metadata.name!)
  }

  async #install(definition: CustomDefinition, { isStored }: { readonly isStored: boolean }): Promise<void> {
    const { catalog, caches, converter } = this.#parts
    const { spec, status, metadata } = definition
    const name = metadata.name!
    if (this.#installed.get(name)?.uid !== metadata.uid) this.#uninstall(name)
    const former = this.#installed.get(name)
    const terminating = isTerminating(definition)
    const state = former?.state ?? { terminating, fence: () => this.#fenceOf(name, metadata.uid!) }
    if (state.terminating !== terminating) {
      state.terminating = terminating
      catalog.touch()
    }
    const content = contentOf(definition)
    if (former?.content === content || isBuiltInResource(catalog, spec.group, status.acceptedNames.plural)) return
    const convert = spec.conversion?.strategy === 'Webhook' ? converter(definition) : undefined
    const compiled = compileDefinition(definition, { names: status.acceptedNames, convert, state })
    const served = compiled.served.filter(({ group, version }) => !catalog.isBuiltIn(group, version))
    await caches.join(compiled.storedVersion, () => {
      this.#unpublish(former)
      this.#installed.set(name, { ...compiled, served, uid: metadata.uid!, content, state, isPublished: false })
      if (isStored) this.publish(name)
    })
  }

  /** A condition of every creation: an object that is on its way while the definition is deleted is not stored any more. */
  #fenceOf(name: string, uid: string): Fence {
    const current = this.#definitions.get({ name })
    if (current?.metadata.uid !== uid) throw noSuchResource()
    return { key: keyOf(this.#definitions.resource, '', name), modified: Number(current.metadata.resourceVersion) }
  }

  #uninstall(name: string): void {
    const installed = this.#installed.get(name)
    if (!installed) return
    this.#installed.delete(name)
    this.#unpublish(installed)
    this.#parts.caches.leave(installed.storedVersion)
  }

  #unpublish(installed: Installed | undefined): void {
    if (installed?.isPublished) for (const resource of installed.served) this.#parts.catalog.remove(resource)
  }

  *#inGroup(group: string): Generator<CustomDefinition> {
    for (const definition of this.#definitions.list()) if (definition.spec.group === group) yield definition
  }
}

/** Built-in resources stay what they are, whatever is defined under their names. */
function isBuiltInResource(catalog: Catalog, group: string, plural: string): boolean {
  for (const resource of catalog.storedResources())
    if (!resource.def.custom && resource.group === group && resource.plural === plural) return true
  return false
}

/** All that a kind is made from: the generation moves with every change of the spec. */
const contentOf = ({ metadata, status }: CustomDefinition): string =>
  `${metadata.uid} ${metadata.generation} ${stringifyJson(status.acceptedNames as unknown as Json)}`

/** Whether the certificates that a webhook is trusted by can be used. */
function isTrusted({ spec }: CustomDefinition): boolean {
  const { caBundle } = spec.conversion?.webhook?.clientConfig ?? {}
  return !caBundle || [...validateCABundle(caBundle, refTo(''))].length === 0
}
