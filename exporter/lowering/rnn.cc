// LSTM, GRU and plain recurrent networks, their cells, on padded and packed sequences.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/packed.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::Graph;
using builder::ValueType;

// What tells the kinds of network apart.
struct Kind {
  const char* onnx_op;
  std::vector<int> gates;        // ONNX's gate i is PyTorch's gate gates[i]
  const char* activation = nullptr;  // of a plain network
  bool has_cell = false;
};

const Kind kLstm = {"LSTM", {0, 3, 1, 2}, nullptr, true};   // i f g o → i o f c
const Kind kGru = {"GRU", {1, 0, 2}};                       // r z n → z r h
const Kind kRnnTanh = {"RNN", {0}, "Tanh"};
const Kind kRnnRelu = {"RNN", {0}, "Relu"};

struct Network {
  const Kind* kind;
  Val input;                 // [T, B, features]
  Val initial_h, initial_c;  // [layers · directions, B, hidden]
  Vals params;
  bool has_biases = true, train = false, bidirectional = false;
  int64_t num_layers = 1;
  double dropout = 0;
  Val lengths;               // [B] int64 for packed sequences, or null
};

struct Outcome {
  Val output, h, c;
};

Val ReorderGates(Builder& b, Val weight, const Kind& kind) {
  const int count = static_cast<int>(kind.gates.size());
  if (!weight || count == 1) return weight;
  if (!weight.dim(0).is_number()) return b.Fail("the size of the hidden state is not known");
  const int64_t hidden = weight.dim(0).value() / count;
  const Vals gates = b.Split(weight, 0, std::vector<int64_t>(count, hidden));
  Vals reordered;
  for (const int gate : kind.gates) reordered.push_back(gates[gate]);
  return b.Concat(reordered, 0);
}

// One direction's parameters within `params`: w_ih, w_hh, and b_ih, b_hh where there are biases.
struct Parameters {
  Val w_ih, w_hh, bias;  // bias: both joined, or null
};

Parameters ParametersAt(Op& op, const Network& net, size_t index) {
  const size_t stride = net.has_biases ? 4 : 2;
  Builder& b = op.b;
  const auto param = [&](size_t i) {
    return ReorderGates(b, net.params[index * stride + i], *net.kind);
  };
  Parameters p{param(0), param(1), {}};
  if (net.has_biases) p.bias = b.Concat({param(2), param(3)}, 0);
  return p;
}

// [directions, …] from each direction's tensor.
Val PerDirection(Builder& b, const Vals& vals) {
  Vals parts;
  for (const Val val : vals) parts.push_back(b.Unsqueeze(val, {0}));
  return b.Concat(parts, 0);
}

Outcome RunLayer(Op& op, const Network& net, int64_t layer, Val x) {
  Builder& b = op.b;
  const int64_t directions = net.bidirectional ? 2 : 1;
  Vals w, r, biases;
  for (int64_t d = 0; d < directions; ++d) {
    const Parameters p = ParametersAt(op, net, layer * directions + d);
    if (op.failed()) return {};
    w.push_back(p.w_ih);
    r.push_back(p.w_hh);
    biases.push_back(p.bias);
  }
  const int64_t first = layer * directions;
  const auto initial = [&](Val state) { return b.Slice(state, 0, first, first + directions); };
  Vals inputs = {x, PerDirection(b, w), PerDirection(b, r),
                 net.has_biases ? PerDirection(b, biases) : Val(),
                 net.lengths ? b.Cast(net.lengths, DType::kInt32) : Val(), initial(net.initial_h)};
  if (net.kind->has_cell) inputs.push_back(initial(net.initial_c));
  const Dim hidden = net.initial_h.dim(2);
  if (!op.Require(hidden.is_number(), "the size of the hidden state is not known")) return {};
  Attrs attrs = {{"direction", net.bidirectional ? "bidirectional" : "forward"},
                 {"hidden_size", hidden.value()}};
  if (net.kind->activation != nullptr) {
    attrs.emplace_back("activations",
                       std::vector<std::string>(directions, net.kind->activation));
  }
  if (net.kind == &kGru) attrs.emplace_back("linear_before_reset", 1);
  const Vals results =
      b.OpN(net.kind->onnx_op, inputs, std::move(attrs), net.kind->has_cell ? 3 : 2,
            {{x.dtype(), Shape(4)}, {x.dtype(), Shape(3)}, {x.dtype(), Shape(3)}});
  // [T, directions, B, hidden] → [T, B, directions · hidden]
  const Val y = b.Transpose(results[0], {0, 2, 1, 3});
  const Val joined = b.Reshape(
      y, b.Vector({b.Size(x, 0), b.Size(x, 1), b.Int(directions * hidden.value())}));
  return {joined, results[1], net.kind->has_cell ? results[2] : Val()};
}

// ---------------------------------------------------------------- projections

Vals SplitGates(Op& op, Val gates, int count) {
  const Dim size = gates.dim(-1);
  if (!op.Require(!gates || size.is_number(), "the size of the hidden state is not known") || !gates)
    return Vals(count);
  return op.b.Split(gates, -1, std::vector<int64_t>(count, size.value() / count));
}

struct LstmState {
  Val h, c;
};

// From the gates i f g o side by side.
LstmState LstmStep(Op& op, Val gates, Val c) {
  Builder& b = op.b;
  const Vals g = SplitGates(op, gates, 4);
  const auto sigmoid = [&](Val x) { return b.Unary("Sigmoid", x); };
  const Val next = b.Add(b.Mul(sigmoid(g[1]), c), b.Mul(sigmoid(g[0]), b.Unary("Tanh", g[2])));
  return {b.Mul(sigmoid(g[3]), b.Unary("Tanh", next)), next};
}

// One direction of an LSTM that projects h, for which ONNX's LSTM has no form: a Scan over the
// steps. Behind the end of a shorter sequence the states stay and the output is 0.
Outcome ScanProjected(Op& op, const Network& net, int64_t cell, bool reverse, Val x) {
  Builder& b = op.b;
  const auto param = [&](size_t i) { return net.params[cell * (net.has_biases ? 5 : 3) + i]; };
  const Val bias = net.has_biases ? b.Add(param(2), param(3)) : Val();
  const Val recurrent = b.Transpose(param(1), {1, 0});
  const Val projection = b.Transpose(net.has_biases ? param(4) : param(2), {1, 0});
  const Val gates = Linear(b, x, param(0), bias);  // [T, B, 4 · hidden]
  const auto state = [&](Val states) { return Select(b, states, 0, b.Int(cell)); };
  const Vals initial = {state(net.initial_h), state(net.initial_c)};
  if (!gates || !initial[0] || !initial[1]) return {};
  const auto type = [&](Val v, size_t first) {
    return ValueType{.dtype = v.dtype(), .shape = Shape(v.shape().begin() + first, v.shape().end())};
  };
  Vals inputs;
  const auto body = b.Subgraph(
      "body",
      [&](Graph* graph) {
        inputs = {b.SubgraphInput(graph, "h", type(initial[0], 0)),
                  b.SubgraphInput(graph, "c", type(initial[1], 0)),
                  b.SubgraphInput(graph, "gates", type(gates, 1)),
                  b.SubgraphInput(graph, "step", {.dtype = DType::kInt64, .shape = Shape{}})};
      },
      [&]() -> Vals {
        const Val h = inputs[0], c = inputs[1];
        LstmState next = LstmStep(op, b.Add(inputs[2], MatMul(b, h, recurrent)), c);
        next.h = MatMul(b, next.h, projection);
        if (!net.lengths) return {next.h, next.c, next.h};
        const Val runs = b.Unsqueeze(b.Less(inputs[3], net.lengths), {1});
        return {b.Where(runs, next.h, h), b.Where(runs, next.c, c),
                b.Where(runs, next.h, b.Scalar(0, h.dtype()))};
      });
  const std::vector<int64_t> direction = {reverse ? 1 : 0};
  Shape outputs = {x.dim(0)};
  outputs.insert(outputs.end(), initial[0].shape().begin(), initial[0].shape().end());
  const Vals results = b.OpN(
      "Scan", {initial[0], initial[1], gates, Iota(b, b.Size(x, 0))},
      {{"body", body}, {"num_scan_inputs", 2},
       {"scan_input_directions", std::vector<int64_t>{direction[0], direction[0]}},
       {"scan_output_directions", direction}},
      3,
      {{x.dtype(), initial[0].shape()}, {x.dtype(), initial[1].shape()}, {x.dtype(), outputs}});
  return {results[2], b.Unsqueeze(results[0], {0}), b.Unsqueeze(results[1], {0})};
}

Outcome RunProjectedLayer(Op& op, const Network& net, int64_t layer, Val x) {
  Builder& b = op.b;
  const Outcome forward = ScanProjected(op, net, layer * (net.bidirectional ? 2 : 1), false, x);
  if (!net.bidirectional || op.failed()) return forward;
  const Outcome backward = ScanProjected(op, net, layer * 2 + 1, true, x);
  return {b.Concat({forward.output, backward.output}, 2), b.Concat({forward.h, backward.h}, 0),
          b.Concat({forward.c, backward.c}, 0)};
}

// ---------------------------------------------------------------- all layers

Outcome Run(Op& op, const Network& net) {
  Builder& b = op.b;
  Val x = net.input;
  Vals h, c;
  const size_t cells = net.num_layers * (net.bidirectional ? 2 : 1);
  const size_t plain = net.has_biases ? 4 : 2;
  const bool projected = net.kind->has_cell && net.params.size() == cells * (plain + 1);
  op.Require(projected || net.params.size() == cells * plain, "has another number of parameters");
  for (int64_t layer = 0; layer < net.num_layers && !op.failed(); ++layer) {
    const Outcome outcome = projected ? RunProjectedLayer(op, net, layer, x)
                                      : RunLayer(op, net, layer, x);
    x = outcome.output;
    h.push_back(outcome.h);
    c.push_back(outcome.c);
    const bool drops = net.train && net.dropout > 0 && layer + 1 < net.num_layers;
    if (drops) {
      x = b.Op("Dropout", {x, b.Scalar(net.dropout, DType::kFloat32),
                           b.ScalarInt(1, DType::kBool)});
    }
  }
  if (op.failed()) return {};
  return {x, b.Concat(h, 0), net.kind->has_cell ? b.Concat(c, 0) : Val()};
}

// ---------------------------------------------------------------- whole networks

Network Read(Op& op, const Kind& kind) {
  Network net;
  net.kind = &kind;
  net.params = op.Tensors("params");
  if (kind.has_cell) {
    const Vals states = op.Tensors("hx");
    if (states.size() != 2) return net;
    net.initial_h = states[0];
    net.initial_c = states[1];
  } else {
    net.initial_h = op.Tensor("hx");
  }
  net.has_biases = op.Bool("has_biases");
  net.num_layers = op.Int("num_layers");
  net.dropout = op.Float("dropout");
  net.train = op.Bool("train");
  net.bidirectional = op.Bool("bidirectional");
  return net;
}

void Finish(Op& op, const Kind& kind, Val output, const Outcome& outcome) {
  if (kind.has_cell) return op.Return(Vals{output, outcome.h, outcome.c});
  op.Return(Vals{output, outcome.h});
}

void Padded(Op& op, const Kind& kind) {
  Builder& b = op.b;
  Network net = Read(op, kind);
  const bool batch_first = op.Bool("batch_first");
  net.input = op.Tensor("input");
  if (!net.input || !net.initial_h || op.failed()) return;
  const bool unbatched = net.input.rank() == 2;
  if (unbatched) {
    net.input = b.Unsqueeze(net.input, {1});
    net.initial_h = b.Unsqueeze(net.initial_h, {1});
    if (kind.has_cell) net.initial_c = b.Unsqueeze(net.initial_c, {1});
  } else if (batch_first) {
    net.input = b.SwapAxes(net.input, 0, 1);
  }
  Outcome outcome = Run(op, net);
  if (unbatched) {
    outcome = {b.Squeeze(outcome.output, {1}), b.Squeeze(outcome.h, {1}),
               kind.has_cell ? b.Squeeze(outcome.c, {1}) : Val()};
  } else if (batch_first) {
    outcome.output = b.SwapAxes(outcome.output, 0, 1);
  }
  Finish(op, kind, outcome.output, outcome);
}

void Packed(Op& op, const Kind& kind) {
  Builder& b = op.b;
  Network net = Read(op, kind);
  const Val data = op.Tensor("data");
  const Packing packing = FromBatchSizes(b, op.Tensor("batch_sizes"));
  if (!data || op.failed()) return;
  net.input = Unpack(b, packing, data, b.Scalar(0, data.dtype()));
  net.lengths = packing.lengths;
  const Outcome outcome = Run(op, net);
  Finish(op, kind, Pack(b, packing, outcome.output), outcome);
}

template <const Kind* kKind>
void Recurrent(Op& op) {
  if (op.node.Find("data") != nullptr) return Packed(op, *kKind);
  Padded(op, *kKind);
}

// ---------------------------------------------------------------- cells

Val Gates(Op& op, Val x, Val weight, absl::string_view bias) {
  return Linear(op.b, x, weight, op.Has(bias) ? op.Tensor(bias) : Val());
}

void LstmCell(Op& op) {
  Builder& b = op.b;
  const Vals states = op.Tensors("hx");
  if (states.size() != 2) return;
  const Val gates = b.Add(Gates(op, op.Tensor("input"), op.Tensor("w_ih"), "b_ih"),
                          Gates(op, states[0], op.Tensor("w_hh"), "b_hh"));
  const LstmState next = LstmStep(op, gates, states[1]);
  op.Return(Vals{next.h, next.c});
}

void GruCell(Op& op) {
  Builder& b = op.b;
  const Val h = op.Tensor("hx");
  const Vals x = SplitGates(op, Gates(op, op.Tensor("input"), op.Tensor("w_ih"), "b_ih"), 3);
  const Vals s = SplitGates(op, Gates(op, h, op.Tensor("w_hh"), "b_hh"), 3);
  const Val reset = b.Unary("Sigmoid", b.Add(x[0], s[0]));
  const Val update = b.Unary("Sigmoid", b.Add(x[1], s[1]));
  const Val candidate = b.Unary("Tanh", b.Add(x[2], b.Mul(reset, s[2])));
  op.Return(b.Add(b.Mul(b.Sub(h, candidate), update), candidate));
}

template <const char* kActivation>
void RnnCell(Op& op) {
  const Val sum = op.b.Add(Gates(op, op.Tensor("input"), op.Tensor("w_ih"), "b_ih"),
                           Gates(op, op.Tensor("hx"), op.Tensor("w_hh"), "b_hh"));
  op.Return(op.b.Unary(kActivation, sum));
}
inline constexpr char kTanh[] = "Tanh";
inline constexpr char kRelu[] = "Relu";

}  // namespace

extern const Family kRnn;
const Family kRnn = {"rnn", {
    {"aten::lstm", Recurrent<&kLstm>, 9, "packed sequences: opset 11"},
    {"aten::gru", Recurrent<&kGru>, 9, "packed sequences: opset 11"},
    {"aten::rnn_tanh", Recurrent<&kRnnTanh>},
    {"aten::rnn_relu", Recurrent<&kRnnRelu>},
    {"aten::lstm_cell", LstmCell},
    {"aten::gru_cell", GruCell},
    {"aten::rnn_tanh_cell", RnnCell<kTanh>},
    {"aten::rnn_relu_cell", RnnCell<kRelu>},
}};

}  // namespace rules_onnx::lowering
