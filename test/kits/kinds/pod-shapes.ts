/** Pods and templates for tests of their rules: conformed and defaulted as in the server, then checked. */

import { POD_OPTIONS, type PodOptions } from '../../../src/kinds/rules/pod/options.ts'
import { PodSpec, PodTemplateSpec } from '../../../src/kinds/rules/pod/spec.ts'
import { validatePodSpec, validatePodTemplateSpec } from '../../../src/kinds/rules/pod/spec-rules.ts'
import { conform } from '../../../src/schema/conform.ts'
import { fillDefaults } from '../../../src/schema/defaults.ts'
import { type FieldError, type Ref, refTo } from '../../../src/schema/refs.ts'
import type { AnyType } from '../../../src/schema/types.ts'

/** A valid container with changes. */
export const container = (more: object = {}) => ({ name: 'main', image: 'example.com/app:1', ...more })

/** A draft of a valid spec with changes. */
export const podSpec = (more: object = {}) => ({ containers: [container()], ...more })

/** The value after decoding and defaulting. */
export function conformed<T>(type: AnyType, draft: unknown): T {
  const value = conform(type, structuredClone(draft) as never).value
  fillDefaults(type, value)
  return value as T
}

/** Errors as `path: message`. */
export const texts = (errors: Iterable<FieldError>): string[] => [...errors].map(({ field, message }) => `${field}: ${message}`)

/** All errors of a spec, under `spec`. */
export function specErrors(draft: object, options: Partial<PodOptions> = {}): string[] {
  const spec = conformed<PodSpec>(PodSpec, draft)
  return texts(validatePodSpec(spec, refTo(spec, 'spec') as Ref<PodSpec>, { ...POD_OPTIONS, ...options }))
}

/** All errors of a template, under `template`. */
export function templateErrors(draft: object, options: Partial<PodOptions> = {}): string[] {
  const template = conformed<PodTemplateSpec>(PodTemplateSpec, draft)
  return texts(validatePodTemplateSpec(template, refTo(template, 'template') as Ref<PodTemplateSpec>, { ...POD_OPTIONS, ...options }))
}

/** The errors of the first container of a pod, without its path. */
export const containerErrors = (more: object, spec: object = {}, options: Partial<PodOptions> = {}): string[] =>
  specErrors(podSpec({ containers: [container(more)], ...spec }), options).map(text => text.replace('spec.containers[0].', ''))

/** The errors of the only volume of a pod, without its path. */
export const volumeErrors = (source: object, options: Partial<PodOptions> = {}): string[] =>
  specErrors(podSpec({ volumes: [{ name: 'data', ...source }] }), options).map(text =>
    text.replace('spec.volumes[0]', '').replace(/^\./, ''),
  )

/** Rows of a test name, the input, and its errors. */
export type Rows<T> = readonly (readonly [name: string, given: T, expected: readonly string[]])[]
