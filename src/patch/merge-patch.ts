// JSON merge patch (RFC 7386) as kube-apiserver applies it.

import { copyObject, getOwn, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'

/** The document with the patch merged in; neither is changed, and parts that the patch does not name are shared with the document. */
export function applyMergePatch(document: Json, patch: Json): Json {
  if (!isObject(document)) return pruneNulls(patch)
  if (!isObject(patch)) return patch
  const merged = copyObject(document) as JsonObject
  for (const key of Object.keys(patch)) {
    const change = patch[key] as Json
    if (change === null) delete merged[key]
    else setOwn(merged, key, applyMergePatch(getOwn(merged, key) ?? null, change))
  }
  return merged
}

/** A value that a patch creates holds no null members; kube-apiserver looks for them inside lists too, but keeps null items. */
function pruneNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(pruneNulls)
  if (!isObject(value)) return value
  const pruned: JsonObject = {}
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(pruned, key, pruneNulls(value[key] as Json))
  return pruned
}
