import sys, copy, json, numpy as np, tempfile, pathlib, warnings
from flexmbs.case import Case
from flexmbs.case.runner import execute
B=lambda m,c,i: {"type":"rigid","mass":m,"com":c,"inertia":{"ixx":i[0],"iyy":i[1],"izz":i[2]}}
def base(law=None, **an):
    return {"gravity":[0,0,-9.81],
     "bodies":{"carrier":B(3,[0.2,0,-.3],[.2,.3,.25])|{"frames":{"pin":{"pos":[.4,.1,-.2]}}},
               "arm":B(1.5,[.3,.05,.1],[.05,.06,.07])},
     "joints":{"hinge":{"type":"revolute","from":"ground","to":"carrier","axis":[0,1,0],"initial":{"position":0.3,"velocity":0.5}},
               "socket":{"type":"spherical","from":"carrier.pin","to":"arm"}},
     "drives":{"swing":{"joint":"socket"}|(law or {"position":{"sequence":"xyz","angles":["=0.5*sin(3*t)","=0.4*sin(2*t)","=6*t"]}})},
     "analysis":{"t_end":1.5}|an, "output":{"every":0.05}}
def run(d, **kw):
    p=pathlib.Path(tempfile.mkdtemp())
    return execute(Case.from_dict(d), p/"a.h5").result
if __name__=="__main__":
    ref=None
    for cut in (False,True):
      for f in ("recursive","minimal","descriptor"):
        for m in ("dop853","generalized-alpha","radau"):
          d=base(formulation=f,method=m,rtol=1e-9,atol=1e-11)
          if m=="generalized-alpha": d["analysis"]|={"rtol":1e-6,"atol":1e-8}
          if cut: d["joints"]["socket"]["cut"]=True
          try: r=run(d)
          except Exception as e: print(cut,f,m,type(e).__name__,str(e)[:150]); continue
          e=np.array(r["drives/swing/effort"]); h=np.array(r["joints/hinge/position"])[:,0]
          if ref is None: ref=(e,h); 
          print(cut,f,m,"effort",e.shape,"d effort",abs(e-ref[0]).max(),"d hinge",abs(h-ref[1]).max(),"bal",abs(np.array(r["energy/balance_error"])).max(), "max closure", np.array(r["solver/constraint_position"]).max())
