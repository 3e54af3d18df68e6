// The families that registry.cc lists, one file each. Included by registry.cc only, so that a new
// family recompiles nothing else.
#ifndef RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_
#define RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_

#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {

extern const Family kActivation;
extern const Family kArithmetic;
extern const Family kMath;
extern const Family kCompare;
extern const Family kLinear;
extern const Family kConv;
extern const Family kNorm;
extern const Family kReduce;
extern const Family kAttention;
extern const Family kPool;
extern const Family kAdaptivePool;
extern const Family kControlFlow;
extern const Family kListChanges;
extern const Family kResize;
extern const Family kDropout;
extern const Family kView;
extern const Family kPermute;
extern const Family kJoin;
extern const Family kSplit;
extern const Family kDiagonal;
extern const Family kCast;
extern const Family kIndex;
extern const Family kGather;
extern const Family kScatter;
extern const Family kSegment;
extern const Family kMask;
extern const Family kRnn;
extern const Family kPacked;
extern const Family kSort;
extern const Family kUnique;
extern const Family kHistogram;
extern const Family kRunning;
extern const Family kCreation;
extern const Family kRange;
extern const Family kSize;
extern const Family kScalar;
extern const Family kContainer;
extern const Family kDetection;
extern const Family kRoi;
extern const Family kQuantize;
extern const Family kQuantized;
extern const Family kNumeric;
extern const Family kDifferences;
extern const Family kLoss;
extern const Family kClassLoss;
extern const Family kCtc;
extern const Family kGamma;
extern const Family kErrorFunction;
extern const Family kBessel;
extern const Family kPolynomials;
extern const Family kEmbeddingBag;
extern const Family kEncoder;
extern const Family kCumulative;
extern const Family kDistance;
extern const Family kPad;
extern const Family kFold;
extern const Family kProducts;
extern const Family kLinalg;
extern const Family kQr;
extern const Family kGrid;
extern const Family kSvd;
extern const Family kSingularVectors;
extern const Family kLstsq;
extern const Family kLdl;
extern const Family kLdlFactor;
extern const Family kComplex;
extern const Family kFft;
extern const Family kRandom;
extern const Family kRandomGamma;
extern const Family kStft;
extern const Family kPrims;

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_
