// The text of a plan -> Plan. The grammar is reference/plan/README.md.
#include <charconv>
#include <limits>

#include "reference/error.hpp"
#include "reference/plan.hpp"
#include "reference/plan/plan_types.hpp"
#include "reference/plan/words.hpp"

namespace ulpscope {
namespace {

constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 40;
constexpr int kMaxDepth = 4200;        // of an explicit tree
constexpr std::size_t kMaxLevels = 8;  // partial sums within partial sums
constexpr std::size_t kMaxOrderAxes = 32;

OperandFormat operand_word(Words& w) {
  const Word word = w.take("an operand format");
  if (!is_operand_name(word.text))
    w.fail(word,
           "no operand format: use fp32, fp64, tf32_rne, tf32_rna, tf32_rz, bf16, bf16_rz, fp16, "
           "fp8_e4m3 or fp8_e5m2");
  return parse_operand(word.text);
}

int part_number(const Words& w, const Word& word, std::string_view part, bool three) {
  if (part == "hi") return 0;
  if (part == "mid") return 1;
  if (part == "lo") return three ? 2 : 1;
  w.fail(word, "a pass is two of hi, mid, lo joined by *, such as hi*lo");
}

OperandRule parse_operands(Words& w) {
  OperandRule rule;
  if (w.accept("a")) {
    rule.a = operand_word(w);
    if (!w.accept("b")) w.fail_here("after 'a FORMAT' comes 'b FORMAT'");
    rule.b = operand_word(w);
  } else {
    rule.a = rule.b = operand_word(w);
  }
  if (w.accept("passes")) {
    std::vector<Word> words;
    bool three = false;
    do {
      words.push_back(w.take("a pass such as hi*lo"));
      three |= words.back().text.find("mid") != std::string_view::npos;
    } while (!w.done());
    if (words.size() > 9) w.fail(words[9], "at most nine passes");
    for (const Word& word : words) {
      const std::size_t star = word.text.find('*');
      if (star == std::string_view::npos)
        w.fail(word, "a pass is two of hi, mid, lo joined by *, such as hi*lo");
      rule.passes.push_back({part_number(w, word, word.text.substr(0, star), three),
                             part_number(w, word, word.text.substr(star + 1), three)});
    }
  }
  w.finish();
  return rule;
}

bool is_format(std::string_view text) {
  return text == "fp64" || text == "fp32" || text == "fp16" || text == "bf16";
}

DType format_word(Words& w) {
  const Word word = w.take("a number format");
  if (!is_format(word.text)) w.fail(word, "no number format: use fp64, fp32, fp16 or bf16");
  return parse_dtype(word.text);
}

BlockStep parse_block(Words& w) {
  BlockStep s;
  s.terms = static_cast<int>(w.number("the products of a step", 1, kMaxBlockTerms));
  if (!w.accept("frac")) w.fail_here("after 'block L' comes 'frac F'");
  s.frac = static_cast<int>(w.number("the fractional bits", 1, kMaxFrac));
  if (w.accept("rne"))
    s.rounding = StepRounding::rne;
  else if (!w.accept("rz"))
    w.fail_here("after 'frac F' comes 'rz' or 'rne'");
  while (!w.done()) {
    if (w.accept("keep")) {
      s.keep = static_cast<int>(w.number("the kept bits", 1, 23));
    } else if (w.accept("floor")) {
      s.floor = static_cast<int>(w.number("the exponent floor", -2000, 0));
    } else if (w.accept("acc")) {
      s.accumulator = format_word(w);
      if (s.accumulator == DType::f64) w.fail_here("a block step accumulates in fp32, fp16 or bf16");
    } else {
      w.fail(w.peek(), "not expected here: a block step may be followed by keep, floor or acc");
    }
  }
  return s;
}

Arithmetic parse_arithmetic(Words& w, const OperandRule& operands) {
  Arithmetic a;
  const Word word = w.take("the arithmetic: fma, mul_add, kahan, kahan_fma or block");
  if (word.text == "fma") {
    if (!w.done()) a.accumulator = format_word(w);
    a.product = a.accumulator;
  } else if (word.text == "mul_add") {
    a.step = Step::mul_add;
    if (!w.done()) a.product = a.accumulator = format_word(w);
    if (!w.done()) a.accumulator = format_word(w);
  } else if (word.text == "kahan" || word.text == "kahan_fma") {
    a.step = word.text == "kahan" ? Step::kahan : Step::kahan_fma;
  } else if (word.text == "block") {
    a.step = Step::block;
    a.block = parse_block(w);
    a.accumulator = a.product = a.block.accumulator;
  } else {
    w.fail(word, "no arithmetic: use fma, mul_add, kahan, kahan_fma or block");
  }
  const bool wide = operands.a == OperandFormat::fp64 || operands.b == OperandFormat::fp64;
  if (wide && (a.accumulator != DType::f64 || a.product != DType::f64))
    w.fail(word, "fp64 operands need fp64 arithmetic: write 'fma fp64' or 'mul_add fp64'");
  w.finish();
  return a;
}

OrderAxis parse_axis(Words& w) {
  const Word word = w.take("an axis");
  OrderAxis axis;
  std::string_view text = word.text;
  if (text.starts_with('-')) {
    axis.descending = true;
    text.remove_prefix(1);
  }
  const std::size_t slash = text.find('/');
  axis.name = text.substr(0, slash);
  if (axis.name.empty() || axis.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
    w.fail(word, "an axis is a lower-case name, such as c, c/32, c/32r or -kw");
  if (slash != std::string_view::npos) {
    std::string_view chunk = text.substr(slash + 1);
    if (chunk.ends_with('r')) {
      axis.residue_first = true;
      chunk.remove_suffix(1);
    }
    const auto [end, error] = std::from_chars(chunk.data(), chunk.data() + chunk.size(), axis.chunk);
    if (error != std::errc() || end != chunk.data() + chunk.size() || axis.chunk < 1 ||
        axis.chunk > kMaxPlaces)
      w.fail(word, "a chunk is a positive whole number: c/32");
  }
  return axis;
}

int parse_node(Words& w, std::vector<ExplicitNode>& tree, int depth) {
  const int self = static_cast<int>(tree.size());
  tree.emplace_back();
  if (!w.accept("(")) {
    tree[static_cast<std::size_t>(self)].leaf =
        w.number("a term number or (", 0, std::numeric_limits<std::int32_t>::max());
    return self;
  }
  if (depth > kMaxDepth) w.fail_here("the tree is nested too deep");
  std::vector<int> children;
  while (!w.accept(")")) children.push_back(parse_node(w, tree, depth + 1));
  if (children.size() < 2) w.fail_here("a node of a tree needs at least two children");
  tree[static_cast<std::size_t>(self)].children = std::move(children);
  return self;
}

Order parse_order(Words& w) {
  Order o;
  if (w.accept("shuffle")) {
    o.kind = OrderKind::shuffle;
    o.seed = static_cast<std::uint64_t>(w.number("a seed", 0, std::numeric_limits<std::int64_t>::max()));
  } else if (w.accept("tree")) {
    o.kind = OrderKind::tree;
    parse_node(w, o.tree, 0);
    w.finish();
    return o;
  } else {
    while (!w.done() && w.peek().text != "reversed") {
      o.axes.push_back(parse_axis(w));
      if (o.axes.size() > kMaxOrderAxes) w.fail_here("too many axes in one order");
    }
    o.kind = o.axes.empty() ? OrderKind::canonical : OrderKind::nest;
    if (o.axes.empty() && w.done()) w.fail_here("an order names axes, such as 'order c kw'");
  }
  o.reversed = w.accept("reversed");
  w.finish();
  return o;
}

void parse_join(Words& w, Level& level) {
  for (const Join join :
       {Join::seq, Join::reverse, Join::tree, Join::butterfly, Join::recursive, Join::unordered})
    if (w.accept(to_string(join))) {
      level.join = join;
      break;
    }
  if (w.accept("in")) level.in = format_word(w);
  if (w.accept("as")) level.as = format_word(w);
  if (w.accept("kept")) {
    if (level.join != Join::seq && level.join != Join::reverse)
      w.fail_here("only a running sum is kept in memory: join by seq or reverse");
    level.kept = format_word(w);
  }
  w.finish();
}

Level parse_level(Words& w, std::string_view word) {
  Level level;
  if (word == "pairwise") {
    level = {Divide::chunks, 1};
    level.join = Join::tree;
    w.finish();
    return level;
  }
  if (word == "chunks") {
    level.divide = Divide::chunks;
    level.count = w.number("the chunk length", 1, kMaxPlaces);
  } else if (word == "tiles") {
    level.divide = Divide::tiles;
    level.count = w.number("the pixels per tile", 1, kMaxPlaces);
  } else if (word == "lanes") {
    level.divide = Divide::lanes;
    level.count = w.number("the number of lanes", 1, 1 << 20);
    if (w.accept("every")) level.unit = w.number("the run length", 1, kMaxPlaces);
    if (w.accept("restart")) level.restart = w.number("the places between restarts", 1, kMaxPlaces);
  } else {
    level.count = w.number("the number of slices", 1, 1 << 20);
    if (w.accept("of")) {
      level.outermost = true;
      level.axis = w.take("the outermost axis of the order").text;
    } else if (w.accept("align")) {
      level.unit = w.number("the alignment", 1, kMaxPlaces);
    }
    level.balanced = w.accept("balanced");
  }
  parse_join(w, level);
  return level;
}

void once(const Words& w, const Word& word, bool& seen) {
  if (seen) w.fail(word, "said twice");
  seen = true;
}

}  // namespace

std::shared_ptr<const Plan> parse_plan(std::string_view text) {
  if (text.size() > (std::size_t{1} << 22)) throw Error("a plan of more than 4 MiB: use a shorter one");
  std::vector<Words> stages = stages_of(text);
  auto plan = std::make_shared<Plan>();
  plan->operands = parse_operands(stages[0]);
  if (stages.size() < 2) stages[0].fail_here("after the operands comes the arithmetic: '| fma', for example");
  plan->arithmetic = parse_arithmetic(stages[1], plan->operands);
  bool order = false, residue = false, interleave = false, alpha = false, beta = false, bias = false,
       mean = false, out = false;
  for (std::size_t i = 2; i < stages.size(); ++i) {
    Words& w = stages[i];
    const Word word = w.take(
        "a stage: order, split, chunks, lanes, tiles, pairwise, residue, interleave, alpha, beta, bias, mean "
        "or out");
    if (word.text == "order") {
      once(w, word, order);
      plan->order = parse_order(w);
    } else if (word.text == "split" || word.text == "chunks" || word.text == "lanes" ||
               word.text == "tiles" || word.text == "pairwise") {
      if (plan->levels.size() == kMaxLevels) w.fail(word, "at most eight levels of partial sums");
      if (word.text == "tiles" && !plan->levels.empty())
        w.fail(word, "tiles are the outermost partial sums: write them first");
      plan->levels.push_back(parse_level(w, word.text));
    } else if (word.text == "residue") {
      once(w, word, residue);
      if (plan->arithmetic.step != Step::block)
        w.fail(word, "only block steps can tell where a residue is taken");
      plan->residue = w.number("the tile length", 2, kMaxPlaces);
    } else if (word.text == "interleave") {
      once(w, word, interleave);
      if (plan->arithmetic.step != Step::block) w.fail(word, "only block steps have places to interleave");
      plan->interleave.steps = static_cast<int>(w.number("the steps that share their places", 2, 64));
      if (w.accept("every")) plan->interleave.run = w.number("the run length", 1, kMaxBlockTerms);
      if (plan->arithmetic.block.terms % plan->interleave.run != 0)
        w.fail_here("a step is made of whole runs: the run length divides the step's");
    } else if (word.text == "alpha") {
      once(w, word, alpha);
      plan->alpha = w.real("a factor");
    } else if (word.text == "beta") {
      once(w, word, beta);
      plan->beta = w.real("a factor");
    } else if (word.text == "bias") {
      once(w, word, bias);
      if (w.accept("first"))
        plan->bias = BiasPlace::first;
      else if (w.accept("after"))
        plan->bias = BiasPlace::after;
      else if (!w.accept("last"))
        w.fail_here("bias comes first, last or after");
    } else if (word.text == "mean") {
      once(w, word, mean);
      if (w.accept("reciprocal"))
        plan->mean = MeanRule::reciprocal;
      else if (!w.accept("divide"))
        w.fail_here("a mean is by divide or reciprocal");
    } else if (word.text == "out") {
      once(w, word, out);
      plan->out = format_word(w);
      if (plan->out == DType::f64) w.fail(word, "an output is fp32, bf16 or fp16");
    } else {
      w.fail(word,
             "no stage: use order, split, chunks, lanes, tiles, pairwise, residue, interleave, alpha, beta, "
             "bias, mean "
             "or out");
    }
    w.finish();
  }
  if (plan->order.kind == OrderKind::tree && !plan->levels.empty())
    throw Error("plan: 'order tree' says how everything is joined: leave out split, chunks and lanes");
  if (plan->residue && plan->order.kind == OrderKind::tree)
    throw Error("plan: 'order tree' says which terms share a step: leave out residue");
  if (interleave && plan->order.kind == OrderKind::tree)
    throw Error("plan: 'order tree' says which terms share a step: leave out interleave");
  if ((plan->alpha || plan->beta) && plan->bias != BiasPlace::last)
    throw Error("plan: with alpha or beta the bias comes last");
  if (plan->arithmetic.step == Step::kahan || plan->arithmetic.step == Step::kahan_fma)
    if (plan->order.kind == OrderKind::tree) throw Error("plan: a compensated sum is a chain, not a tree");
  return plan;
}

DType output_format(const Plan& plan) {
  return plan.out;
}

}  // namespace ulpscope
