// Attributes of the attn dialect: the mask band, the schedule and the target of a kernel, the layout of a distributed tile.
#ifndef ATTN_ATTRIBUTES_TD
#define ATTN_ATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "dialect/AttnDialect.td"

def Attn_Align : I32EnumAttr<"BandAlign", "corner that the diagonal of a band goes through", [
    I32EnumAttrCase<"TopLeft", 0, "top_left">,
    I32EnumAttrCase<"BottomRight", 1, "bottom_right">]> {
  let cppNamespace = "::tessera::attn";
  let genSpecializedAttr = 0;
}

class Attn_Attr<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Attn_BandAttr : Attn_Attr<"Band", "band"> {
  let summary = "visible keys of a query row: i + off - left <= j <= i + off + right";
  let description = [{
    `off` is 0 for `top_left` and (key length - query length) for `bottom_right`. An absent bound is unbounded.

    Constraints:
    * `band_c1`: at least one bound is present; a full mask is the absence of a band.
    * `band_c2`: a bound is not negative.

    ```mlir
    #attn.band<right = 0, align = bottom_right>              // causal
    #attn.band<left = 127, right = 0, align = bottom_right>  // 128 keys including the own one
    ```
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$left, OptionalParameter<"std::optional<int64_t>">:$right,
                    EnumParameter<Attn_Align>:$align);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_ScheduleAttr : Attn_Attr<"Schedule", "schedule"> {
  let summary = "how the kernel is tiled: the canonical text of a tessera::Schedule";
  let description = "Constraint `schedule_c1`: the text parses.";
  let parameters = (ins StringRefParameter<"canonical text">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The typed schedule; the verifier has made sure that the text parses.
    ::tessera::Schedule getSchedule() const;
  }];
}

def Attn_TargetAttr : Attn_Attr<"Target", "target"> {
  let summary = "the architecture that the kernel is for";
  let description = "Constraint `target_c1`: the target table has the architecture.";
  let parameters = (ins StringRefParameter<"architecture, e.g. sm_80">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The row of the target table; the verifier has made sure that there is one.
    ::tessera::Target getTarget() const;
  }];
}

def Attn_Placement : I32EnumAttr<"Placement", "which thread holds which element of a tile", [
    I32EnumAttrCase<"Fragment", 0, "fragment">,
    I32EnumAttrCase<"Rows", 1, "rows">]> {
  let cppNamespace = "::tessera::attn";
  let genSpecializedAttr = 0;
}

def Attn_LayoutAttr : Attn_Attr<"Layout", "layout"> {
  let summary = "encoding of a distributed tile: all warps along the rows, one 16 x 8 fragment inside a warp";
  let description = [{
    * `fragment`: the C fragment of mma.m16n8. Lane t = 4g + q of a warp holds rows g and g + 8, columns 2q and 2q + 1 of every 16 x 8
      block; warp w owns rows [w R, (w + 1) R) with R = rows / warps. Of a 16-bit tile the two columns share a register, and the fragment is
      the A operand of the next product as it stands.
    * `rows`: one value per row in each of the four lanes that hold the row (the same in all four, but for partial sums).
  }];
  let parameters = (ins EnumParameter<Attn_Placement>:$placement, "unsigned":$warps);
  let assemblyFormat = "`<` $placement `,` `warps` `=` $warps `>`";
}

#endif
