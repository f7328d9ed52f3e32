/**
 * CustomResourceDefinitions as kube-apiserver stores them: in v1beta1, which has what all versions share beside the versions, and
 * knows one version without a list of them. Members are in the order in which Go writes them.
 */
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'

/** The fields that v1 has in each version, and v1beta1 beside the versions where they are the same in all; by their names in v1 and v1beta1. */
const SHARED = [
  ['subresources', 'subresources'],
  ['schema', 'validation'],
  ['additionalPrinterColumns', 'additionalPrinterColumns'],
  ['selectableFields', 'selectableFields'],
] as const

/** A definition of v1 in v1beta1. */
export function toV1beta1(definition: JsonObject): JsonObject {
  const { apiVersion, spec, ...others } = definition
  const { group, names, scope, conversion, preserveUnknownFields = false, versions } = objectOf(spec)
  const each = listOf(versions)
  const first = each[0]
  const shared: JsonObject = {}
  const isShared = (name: string) => each.every(version => deepEqual(version[name], first?.[name]))
  for (const [name, beside] of SHARED) if (first?.[name] !== undefined && isShared(name)) shared[beside] = first[name]!
  const apart = each.map(version => {
    const kept = Object.entries(version).filter(([name]) => !SHARED.some(([shares]) => shares === name && isShared(name)))
    return withOldColumns(Object.fromEntries(kept))
  })
  const { validation, subresources, additionalPrinterColumns, selectableFields } = withOldColumns(shared)
  return {
    kind: definition['kind']!,
    apiVersion: String(apiVersion).replace(/v1$/, 'v1beta1'),
    metadata: others['metadata']!,
    spec: present({
      group,
      version: first?.['name'],
      names,
      scope,
      validation,
      subresources,
      versions: apart.length > 0 ? apart : undefined,
      additionalPrinterColumns,
      selectableFields,
      conversion: conversion === undefined ? undefined : oldConversion(objectOf(conversion)),
      preserveUnknownFields,
    }),
    status: others['status']!,
  }
}

/** A definition of v1beta1 in v1, with what v1beta1 takes for granted. */
export function fromV1beta1(definition: JsonObject): JsonObject {
  const { apiVersion, spec, ...others } = definition
  const { group, version, names, scope = 'Namespaced', versions, conversion, preserveUnknownFields = true, ...old } = objectOf(spec)
  const listed = listOf(versions)
  const each = listed.length === 0 && typeof version === 'string' ? [{ name: version, served: true, storage: true }] : listed
  const shared: JsonObject = {}
  for (const [name, beside] of SHARED) if (old[beside] !== undefined && old[beside] !== null) shared[name] = old[beside]!
  return {
    kind: definition['kind']!,
    apiVersion: String(apiVersion).replace(/v1beta1$/, 'v1'),
    ...others,
    spec: present({
      group,
      names,
      scope,
      versions: each.map(one => withNewColumns({ ...one, ...shared })),
      conversion: isObject(conversion) ? newConversion(conversion) : undefined,
      preserveUnknownFields: preserveUnknownFields === true ? true : undefined,
    }),
  }
}

function oldConversion({ strategy, webhook }: JsonObject): JsonObject {
  const { clientConfig, conversionReviewVersions } = objectOf(webhook)
  return present({ strategy, webhookClientConfig: clientConfig, conversionReviewVersions })
}

function newConversion({ strategy, webhookClientConfig: clientConfig, conversionReviewVersions }: JsonObject): JsonObject {
  const isAsked = strategy === 'Webhook'
  const versions = conversionReviewVersions ?? (isAsked ? ['v1beta1'] : undefined)
  const webhook =
    clientConfig === undefined && versions === undefined ? undefined : present({ clientConfig, conversionReviewVersions: versions })
  return present({ strategy, webhook })
}

/** Columns name their path in capitals there. */
const withOldColumns = (version: JsonObject) => renamedColumns(version, 'jsonPath', 'JSONPath')
const withNewColumns = (version: JsonObject) => renamedColumns(version, 'JSONPath', 'jsonPath')

function renamedColumns(version: JsonObject, from: string, to: string): JsonObject {
  const { additionalPrinterColumns: columns } = version
  if (!Array.isArray(columns)) return version
  const renamed = columns.map(column => {
    const { [from]: path, ...others } = objectOf(column)
    return present({ ...others, [to]: path })
  })
  return { ...version, additionalPrinterColumns: renamed }
}

const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
const listOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

/** Without members that are undefined. */
const present = (members: { [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(members).filter((member): member is [string, Json] => member[1] !== undefined))
